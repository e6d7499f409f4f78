/** The panes above the rows: tables of the source, the statement, its variables. They can be resized. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { panes, setPanes } from '../../state/panes.ts';
import { may } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import { readOutline } from '../../state/variables.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { Fault, FormatModule } from '../../ui/editor/protocol.ts';
import { Icon } from '../../ui/icons.tsx';
import { modifier } from '../../ui/keyboard.ts';
import { notify } from '../../ui/notice.tsx';
import { Splitter } from '../../ui/splitter.tsx';
import type { RunActions } from './run-actions.tsx';
import { TablesPane } from './tables-pane.tsx';
import { VariablesPanel } from './variables-panel.tsx';

interface StatementAreaProps {
  editor: QueryEditor;
  run: RunActions;
  faults: Fault[];
  onSave(): void;
}

export function StatementArea({ editor, run, faults, onSave }: StatementAreaProps) {
  const area = useRef<HTMLDivElement>(null);
  const { statementHeight, variablesWidth, tables = false } = panes.value;
  const draft = editor.draft.value;
  useLayoutEffect(() => {
    const style = area.current?.style;
    const set = (name: string, size: number | undefined) =>
      size === undefined ? style?.removeProperty(name) : style?.setProperty(name, `${size}px`);
    set('--statement-height', statementHeight);
    set('--variables-width', variablesWidth);
  }, [statementHeight, variablesWidth]);
  if (draft === undefined) return null;
  return (
    <>
      <div class="statement-area" ref={area} data-tables={tables}>
        {tables && <TablesPane editor={editor} sourceId={draft.sourceId} />}
        <div class="editor-pane">
          <EditorTools editor={editor} tables={tables} />
          <CodeEditor
            text={draft.text}
            engine={editor.engine.value}
            sourceId={draft.sourceId}
            label="Statement"
            faults={faults}
            readOnly={!may('queries:write') || draft.steps !== undefined}
            variables={() => [
              ...new Set([
                ...readOutline({ ...(editor.draft.value ?? draft), engine: editor.engine.value }).names,
                ...draft.context.map(({ key }) => key),
              ]),
            ]}
            onChange={(text) => editor.edit({ text })}
            onRun={run.ask}
            onSave={onSave}
          />
          <Splitter
            label="Width of the variables"
            direction="vertical"
            size={() => area.current?.querySelector<HTMLElement>('.variables')?.offsetWidth ?? 0}
            min={180}
            max={() => (area.current?.offsetWidth ?? 0) / 2}
            onChange={(width) => setPanes({ variablesWidth: width })}
          />
        </div>
        <VariablesPanel editor={editor} shown={run.tried} onRun={run.ask} />
      </div>
      <Splitter
        label="Height of the statement"
        direction="horizontal"
        size={() => area.current?.offsetHeight ?? 0}
        min={110}
        max={() => innerHeight - 260}
        onChange={(height) => setPanes({ statementHeight: height })}
      />
    </>
  );
}

/** Above the statement. */
function EditorTools({ editor, tables }: { editor: QueryEditor; tables: boolean }) {
  const engine = editor.engine.value;
  const format = async () => {
    const text = editor.draft.value?.text ?? '';
    try {
      const { formatStatement }: FormatModule = await import(
        /* @vite-ignore */ addressOf('console/format.js')
      );
      const formatted = formatStatement(text, engine);
      if (editor.draft.value?.text === text) editor.edit({ text: formatted });
    } catch {
      notify(
        'This statement stays as it is: the formatter does not understand it, or would change what it means.',
      );
    }
  };
  return (
    <div class="editor-tools">
      {may('sources:read') && engine !== 'mongodb' && (
        <button
          type="button"
          class="quiet"
          aria-pressed={tables}
          title="Tables, columns and rows of the source"
          onClick={() => setPanes({ tables: !tables })}
        >
          <Icon name="table" /> Tables
        </button>
      )}
      {may('queries:write') && (
        <button type="button" class="quiet" onClick={format}>
          Format
        </button>
      )}
      <span class="note">{modifier}F finds and replaces</span>
    </div>
  );
}
