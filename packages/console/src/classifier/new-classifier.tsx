import { useState } from 'preact/hooks';
import { callJson } from '../api/client.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { go } from '../shell/route.ts';
import { hubId, loadClassifiers } from '../shell/workspace.ts';

export function NewClassifier() {
  const [name, setName] = useState('');
  const hub = hubId.value ?? '';
  let made: string | undefined;
  const submit = async () => {
    const { id } = await callJson<{ id: string }>('v1/classifiers', { body: { name: name.trim() } });
    made = id;
    await loadClassifiers();
  };
  return (
    <FormDialog
      title="New classifier"
      action="Create classifier"
      disabled={name.trim() === ''}
      onClose={() => (made === undefined ? go('hub', hub) : go('hub', hub, 'classifier', made, 'train'))}
      onSubmit={submit}
    >
      <p>
        A classifier learns labels from example texts, one at a time or many at once, and predicts the label
        of others.
      </p>
      <Field label="Name" value={name} onInput={setName} required autofocus placeholder="Customer mail" />
    </FormDialog>
  );
}
