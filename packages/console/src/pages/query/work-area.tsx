/** The panes above the rows: tables of the source, the statement, its variables. They can be resized. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import type { DraftWork } from '../../state/draft-work.ts';
import { panes, setPanes } from '../../state/panes.ts';
import { may } from '../../state/permissions.ts';
import { namesIn } from '../../state/variables.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { Fault, FormatModule } from '../../ui/editor/protocol.ts';
import { Icon } from '../../ui/icons.tsx';
import { modifier } from '../../ui/keyboard.ts';
import { notify } from '../../ui/notice.tsx';
import { Splitter } from '../../ui/splitter.tsx';
import { Later } from '../lazy.tsx';
import type { RunActions } from './run-actions.tsx';
import { VariablesPanel } from './variables-panel.tsx';

interface WorkAreaProps {
  work: DraftWork;
  run: RunActions;
  faults: Fault[];
  onSave(): void;
}

export function WorkArea({ work, run, faults, onSave }: WorkAreaProps) {
  const area = useRef<HTMLDivElement>(null);
  const { workHeight, variablesWidth, tables = false } = panes.value;
  const draft = work.draft.value;
  useLayoutEffect(() => {
    const style = area.current?.style;
    const set = (name: string, size: number | undefined) =>
      size === undefined ? style?.removeProperty(name) : style?.setProperty(name, `${size}px`);
    set('--work-height', workHeight);
    set('--variables-width', variablesWidth);
  }, [workHeight, variablesWidth]);
  if (draft === undefined) return null;
  return (
    <>
      <div class="work" ref={area} data-tables={tables}>
        {tables && <Later>{({ TablesPane }) => <TablesPane work={work} sourceId={draft.sourceId} />}</Later>}
        <div class="editor-pane">
          <EditorTools work={work} tables={tables} />
          <CodeEditor
            text={draft.text}
            engine={work.engine.value}
            sourceId={draft.sourceId}
            label="Statement"
            faults={faults}
            readOnly={!may('queries:write')}
            variables={() => [
              ...new Set([
                ...namesIn(work.draft.value?.text ?? '', work.engine.value),
                ...draft.context.map(({ key }) => key),
              ]),
            ]}
            onChange={(text) => work.edit({ text })}
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
        <VariablesPanel work={work} shown={run.tried} />
      </div>
      <Splitter
        label="Height of the statement"
        direction="horizontal"
        size={() => area.current?.offsetHeight ?? 0}
        min={110}
        max={() => innerHeight - 260}
        onChange={(height) => setPanes({ workHeight: height })}
      />
    </>
  );
}

/** Above the statement. */
function EditorTools({ work, tables }: { work: DraftWork; tables: boolean }) {
  const engine = work.engine.value;
  const format = async () => {
    const text = work.draft.value?.text ?? '';
    try {
      const { formatStatement }: FormatModule = await import(
        /* @vite-ignore */ addressOf('console/format.js')
      );
      const formatted = formatStatement(text, engine);
      if (work.draft.value?.text === text) work.edit({ text: formatted });
    } catch {
      notify('This statement cannot be formatted: the formatter does not understand it.');
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
