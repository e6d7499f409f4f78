/** Dialogs that create, rename and delete a classifier. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import type { Classifier } from '../../api/types.ts';
import { go } from '../../state/route.ts';
import { hubId, loadClassifiers } from '../../state/workspace.ts';
import { useChangedForm } from '../../ui/changed-form.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';

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

interface ClassifierDialogProps {
  classifier: Classifier;
  onClose(): void;
}

interface RenameProps extends ClassifierDialogProps {
  onRenamed(): void;
}

export function RenameClassifier({ classifier, onClose, onRenamed }: RenameProps) {
  const changed = useChangedForm<Classifier, { name: string }>({
    path: `v1/classifiers/${part(classifier.classifierId)}`,
    first: { name: classifier.name },
    formOf: ({ name }) => ({ name }),
    names: { name: 'Name' },
  });
  const { name } = changed.form;
  const submit = async () => {
    await changed.save(() => ({ name: name.trim() }));
    onRenamed();
    await loadClassifiers();
  };
  return (
    <FormDialog
      title="Rename classifier"
      action="Rename"
      disabled={name.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
      onTheirs={changed.takeTheirs}
    >
      <Field label="Name" value={name} onInput={(next) => changed.set({ name: next })} required autofocus />
    </FormDialog>
  );
}

export function DeleteClassifier({ classifier, onClose }: ClassifierDialogProps) {
  const submit = async () => {
    await call(`v1/classifiers/${part(classifier.classifierId)}`, { method: 'DELETE' });
    await loadClassifiers();
    go('hub', hubId.value ?? '');
  };
  return (
    <FormDialog
      title={`Delete “${classifier.name}”?`}
      action="Delete classifier"
      danger
      onClose={onClose}
      onSubmit={submit}
    >
      <p>What it has learned is deleted with it.</p>
    </FormDialog>
  );
}
