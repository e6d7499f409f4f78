/** Changes the name, the limits and the expiry of a key. */

import { useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Key } from '../../api/types.ts';
import { changeOf, formOf, hasWrongNumber, type KeyForm } from '../../state/key-form.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { moment } from '../../ui/format.ts';
import { notify } from '../../ui/notice.tsx';
import { KeyLimits } from './key-limits.tsx';

interface ChangeKeyProps {
  of: Key;
  onClose(): void;
  onDone(): void;
}

export function ChangeKey({ of, onClose, onDone }: ChangeKeyProps) {
  const [form, setForm] = useState(() => formOf(of));
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change });
  const body = changeOf(of, form, Date.now());
  const submit = async () => {
    await callJson(`v1/keys/${part(of.keyId)}`, { method: 'PUT', body });
    notify(`Changed “${form.name.trim()}”.`);
    onDone();
  };
  return (
    <FormDialog
      title={`Change “${of.name}”`}
      action="Save the key"
      disabled={form.name.trim() === '' || hasWrongNumber(form) || Object.keys(body).length === 0}
      wide
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        Programs with the key need no change: the new limits apply within five seconds. The scopes of a key
        cannot be changed.
      </p>
      <Field label="Name" value={form.name} onInput={(name) => set({ name })} required autofocus />
      <KeyLimits
        form={form}
        set={set}
        end={of.expiresAt === null ? 'no end, as now' : `ends ${moment(of.expiresAt)}, as now`}
      />
    </FormDialog>
  );
}
