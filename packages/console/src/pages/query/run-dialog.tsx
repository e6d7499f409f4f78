/** The dialog that asks before a write. */

import { useState } from 'preact/hooks';
import { canDryRun } from '../../state/commands.ts';
import type { QueryEditor, RunOptions } from '../../state/query-editor.ts';
import { shownValues } from '../../state/variables.ts';
import { sources } from '../../state/workspace.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';

interface RunDialogProps {
  editor: QueryEditor;
  onRun(options: RunOptions): void;
  onClose(): void;
}

export function RunDialog({ editor, onRun, onClose }: RunDialogProps) {
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
