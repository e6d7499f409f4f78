/** Dialogs that correct or delete an example. */

import { useState } from 'preact/hooks';
import { call, part } from '../../../api/client.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Field } from '../../../ui/field.tsx';
import { notify } from '../../../ui/notice.tsx';
import { changeAsShown, isChanged } from '../change.ts';
import { type Example, readExamples } from './example-page.ts';

export interface ShownExample {
  example: Example;
  /** The id of the example before it in the list of this label, empty for the first. */
  after: string;
  /** Empty for the list of all examples. */
  label: string;
}

interface ExampleDialogProps {
  classifierId: string;
  shown: ShownExample;
  onClose(): void;
  onChanged(): void;
  /** The example is not as it was shown. */
  onStale(): void;
}

type Sent = { method: 'PUT'; body: object } | { method: 'DELETE' };

async function change(
  { classifierId, shown, onChanged, onStale }: ExampleDialogProps,
  sent: Sent,
): Promise<void> {
  const { example, after, label } = shown;
  const path = `v1/classifiers/${part(classifierId)}/examples/${part(example.exampleId)}`;
  const isAsShown = async () => {
    const [now] = (await readExamples(classifierId, { after, label, limit: 1 })).examples;
    return (
      now?.exampleId === example.exampleId && now.label === example.label && now.context === example.context
    );
  };
  try {
    await changeAsShown(classifierId, { isAsShown, send: (headers) => call(path, { ...sent, headers }) });
  } catch (err) {
    if (isChanged(err)) onStale();
    throw err;
  }
  onChanged();
}

export function CorrectExample({ labels, ...props }: ExampleDialogProps & { labels: string[] }) {
  const { example } = props.shown;
  const [label, setLabel] = useState(example.label);
  const [context, setContext] = useState(example.context);
  const isSame = label.trim() === example.label && context === example.context;
  const submit = async () => {
    await change(props, {
      method: 'PUT',
      body: {
        ...(label.trim() === example.label ? {} : { label: label.trim() }),
        ...(context === example.context ? {} : { context }),
      },
    });
    notify('Corrected. Predictions follow in a moment.');
  };
  return (
    <FormDialog
      title="Correct the example"
      action="Correct"
      disabled={isSame || label.trim() === '' || context.trim() === ''}
      onClose={props.onClose}
      onSubmit={submit}
    >
      <Field label="Label" value={label} onInput={setLabel} suggestions={labels} autofocus />
      <Field label="Text" value={context} onInput={setContext} rows={6} />
    </FormDialog>
  );
}

export function DeleteExample(props: ExampleDialogProps) {
  const { label, context } = props.shown.example;
  const submit = async () => {
    await change(props, { method: 'DELETE' });
    notify('Deleted. Predictions follow in a moment.');
  };
  return (
    <FormDialog
      title="Delete the example?"
      action="Delete example"
      danger
      onClose={props.onClose}
      onSubmit={submit}
    >
      <p>
        <strong>{label}</strong>: {context.slice(0, 200)}
        {context.length > 200 && ' …'}
      </p>
      <p>Its text is deleted, and predictions are as if it had never been trained.</p>
    </FormDialog>
  );
}
