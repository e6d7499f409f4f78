/** Gives a query a path, by which callers and files name it. */

import { useState } from 'preact/hooks';
import { call, part } from '../../../api/client.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Field } from '../../../ui/field.tsx';
import { notify } from '../../../ui/notice.tsx';

export function PathDialog({ editor, onClose }: { editor: StoredQueryEditor; onClose(): void }) {
  const meta = editor.stored.value?.meta;
  const [path, setPath] = useState(meta?.path ?? '');
  const submit = async () => {
    const body = { meta: { path: path.trim() === '' ? null : path.trim() } };
    await call(`v1/queries/${part(editor.queryId)}`, { method: 'PUT', body });
    await editor.load({ adopt: 'never' });
    notify(path.trim() === '' ? 'Removed the path.' : 'Set the path.');
  };
  return (
    <FormDialog title="Path of the query" action="Set path" onClose={onClose} onSubmit={submit}>
      <Field
        label="Path"
        value={path}
        onInput={setPath}
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
