/** Running a query, with the dialog that asks before a write. */

import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { canDryRun } from '../../state/commands.ts';
import type { QueryEditor, RunOptions } from '../../state/query-editor.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { shownValues } from '../../state/variables.ts';
import { sources } from '../../state/workspace.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { focusFault } from './variable-inputs.tsx';

export interface RunActions {
  /** True after a run was attempted with invalid values. */
  tried: boolean;
  /** True while the page asks before a write. */
  asking: boolean;
  dialog: ComponentChild;
  /** Runs what the page shows. If it writes, asks first. */
  ask(): void;
  /** Runs the query even if the hub has a cached result. */
  runFresh(): void;
}

export function useRun(editor: QueryEditor): RunActions {
  const [tried, setTried] = useState(false);
  const [asking, setAsking] = useState(false);
  const ask = () => {
    setTried(true);
    if (focusFault(editor)) return;
    if (editor.writes) setAsking(true);
    else void editor.run();
    // On a phone, the rows are below the statement and the variables.
    if (matchMedia('(max-width: 760px)').matches) document.querySelector('.results')?.scrollIntoView();
  };
  const dialog = asking && (
    <RunDialog
      editor={editor}
      onRun={(options) => void editor.run(options)}
      onClose={() => setAsking(false)}
    />
  );
  return { tried, asking, dialog, ask, runFresh: () => void editor.run({ fresh: true }) };
}

interface RunDialogProps {
  editor: QueryEditor;
  onRun(options: RunOptions): void;
  onClose(): void;
}

function RunDialog({ editor, onRun, onClose }: RunDialogProps) {
  const { text = '', command = '', sourceId = '' } = editor.draft.value ?? {};
  return (
    <WriteDialog
      command={command}
      source={sources.value.find((one) => one.sourceId === sourceId)?.label ?? 'its source'}
      text={text}
      values={shownValues(editor.fields.value, editor.sent.value)}
      canDryRun={canDryRun(command, editor.engine.value)}
      isDraft={editor.isDraft.value}
      onRun={onRun}
      onClose={onClose}
    />
  );
}

/** Reads the query again when the tab becomes visible. What the dialog shows stays: if it is outdated, the hub refuses it. */
export function useReread(editor: StoredQueryEditor, asking: boolean): void {
  useEffect(() => {
    const reread = () => {
      if (document.visibilityState !== 'visible') return;
      // Without an answer, the page shows what it has, and the hub refuses to run it if it is outdated.
      editor.load(asking ? { adopt: 'never' } : {}).catch(() => undefined);
    };
    document.addEventListener('visibilitychange', reread);
    return () => document.removeEventListener('visibilitychange', reread);
  }, [editor, asking]);
}

/** Ctrl+Enter and Ctrl+S work in all parts of the page. */
export function useShortcuts(ask: () => void, save: () => unknown): void {
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
      if (
        !(event.ctrlKey || event.metaKey) ||
        event.defaultPrevented ||
        document.querySelector('dialog[open]')
      )
        return;
      if (event.key === 'Enter') ask();
      else if (event.key.toLowerCase() === 's') void save();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keydown);
    return () => removeEventListener('keydown', keydown);
  });
}

interface WriteDialogProps {
  command: string;
  source: string;
  /** The statement that will run. */
  text: string;
  /** The name and the value of each variable. */
  values: [string, string][];
  canDryRun: boolean;
  /** A draft is only run and rolled back. */
  isDraft: boolean;
  onRun(options: { dryRun?: boolean; maxAffected?: number }): void;
  onClose(): void;
}

function WriteDialog(props: WriteDialogProps) {
  const { command, source, text, values, canDryRun, isDraft, onRun, onClose } = props;
  const [most, setMost] = useState('');
  const maxAffected = /^\d+$/.test(most) ? { maxAffected: Number(most) } : {};
  const run = (options: { dryRun?: boolean }) => {
    onRun({ ...maxAffected, ...options });
    onClose();
  };
  return (
    <Dialog title={`${isDraft ? 'Try' : 'Run'} ${command} on “${source}”?`} onClose={onClose}>
      <form class="form" onSubmit={(event) => event.preventDefault()}>
        <p>
          This statement changes the database.
          {canDryRun
            ? ' A dry run executes it and rolls it back, to show how many rows it would affect.'
            : ' It runs outside of a transaction, so a dry run is not possible.'}
          {isDraft && ' A draft that writes can only be run in this way. Publish it to run it.'}
        </p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
        <pre class="statement" tabIndex={0} role="region" aria-label="Statement that will run">
          {text}
        </pre>
        {values.length > 0 && (
          <dl class="sent-values" aria-label="Values">
            {values.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
        {canDryRun && (
          <Field
            label="At most this many rows"
            value={most}
            onInput={setMost}
            placeholder="no limit"
            hint="If it affects more rows, it is rolled back."
          />
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          {canDryRun && (
            <button type="button" class={isDraft ? 'primary' : ''} onClick={() => run({ dryRun: true })}>
              Dry run
            </button>
          )}
          {!isDraft && (
            <button type="button" class="danger" onClick={() => run({})}>
              Run {command}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
