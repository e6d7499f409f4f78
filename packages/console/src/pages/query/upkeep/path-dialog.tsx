/** Gives a query a path, by which callers and files name it. */

import { part } from '../../../api/client.ts';
import type { Query } from '../../../api/types.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { useChangedForm } from '../../../ui/changed-form.tsx';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Field } from '../../../ui/field.tsx';
import { notify } from '../../../ui/notice.tsx';

export function PathDialog({ editor, onClose }: { editor: StoredQueryEditor; onClose(): void }) {
  const meta = editor.stored.value?.meta;
  const changed = useChangedForm<Query, { path: string }>({
    path: `v1/queries/${part(editor.queryId)}`,
    first: { path: meta?.path ?? '' },
    formOf: ({ meta }) => ({ path: meta.path ?? '' }),
    names: { path: 'Path' },
  });
  const { path } = changed.form;
  const submit = async () => {
    await changed.save(() => ({ meta: { path: path.trim() === '' ? null : path.trim() } }));
    await editor.load({ adopt: 'never' });
    notify(path.trim() === '' ? 'Removed the path.' : 'Set the path.');
  };
  return (
    <FormDialog
      title="Path of the query"
      action="Set path"
      onClose={onClose}
      onSubmit={submit}
      onTheirs={changed.takeTheirs}
    >
      <Field
        label="Path"
        value={path}
        onInput={(next) => changed.set({ path: next })}
        mono
        autofocus
        placeholder="reports/by-region"
        hint="Lower-case letters, digits, - and _, in parts joined by /. Unique in the hub. Empty: no path."
      />
      <p class="hint">
        Callers reach the query at{' '}
        <code>
          GET /v1/hubs/{meta?.hubId}/data/{path.trim() || '…'}
        </code>
        , also after it was replaced by another one.{' '}
        {meta?.path !== undefined && 'Callers of the old path get an error.'}
      </p>
    </FormDialog>
  );
}
