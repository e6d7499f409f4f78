/** The examples that a classifier learned, all or those of a label: page by page, to correct, to delete, and as a file. */

import { useState } from 'preact/hooks';
import { changeDocument, isChanged } from '../../../api/change-document.ts';
import { call, part } from '../../../api/client.ts';
import type { Classifier } from '../../../api/types.ts';
import { downloads, fileName, saveBlob } from '../../../state/downloads.ts';
import { useAction } from '../../../ui/action.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Choice, Field } from '../../../ui/field.tsx';
import { bytes, moment } from '../../../ui/format.ts';
import { Icon } from '../../../ui/icons.tsx';
import { useLoad } from '../../../ui/load.tsx';
import { Menu } from '../../../ui/menu.tsx';
import { notify } from '../../../ui/notice.tsx';
import { Loading } from '../../../ui/page.tsx';
import { Pager } from '../../../ui/pager.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';
import { ActionsHead, Scrolling, TableHead } from '../../../ui/table.tsx';
import { type Example, readExamples } from './example-page.ts';

const pageSize = 50;
const textCharactersMax = 400;

/** Where a page begins: after which example, and how many there are before it. */
interface Start {
  after: string;
  before: number;
}

interface ExamplesViewProps {
  classifier: Classifier;
  onChanged(): void;
}

export function ExamplesView(props: ExamplesViewProps) {
  const [label, setLabel] = useState('');
  const labels = props.classifier.classes.map((one) => one.label);
  return (
    <>
      {labels.length > 1 && (
        <Choice
          label="Label"
          value={label}
          options={[['', 'All'], ...labels.map((one) => [one, one] as const)]}
          onChange={setLabel}
        />
      )}
      <Examples key={label} {...props} label={label} />
    </>
  );
}

/** With a label only the examples that have it; all if it is empty. */
function Examples({ classifier, onChanged, label }: ExamplesViewProps & { label: string }) {
  const { classifierId, classes } = classifier;
  const [starts, setStarts] = useState<Start[]>([{ after: '', before: 0 }]);
  const { after, before } = starts.at(-1) as Start;
  const loaded = useLoad(
    (signal) => readExamples(classifierId, { after, label, limit: pageSize, signal }),
    [classifierId, after],
  );
  const [asked, setAsked] = useState<{ action: 'correct' | 'delete'; shown: ShownExample }>();
  const changed = () => {
    loaded.refresh();
    onChanged();
  };
  if (loaded.problem !== undefined) return <ProblemBox problem={loaded.problem} />;
  if (loaded.value === undefined) return <Loading what="the examples" />;
  const { examples, total, isLast } = loaded.value;
  const dialog = {
    classifierId,
    onClose: () => setAsked(undefined),
    onChanged: changed,
    onStale: loaded.refresh,
  };
  return (
    <>
      <div class="example-bar">
        <Downloads classifier={classifier} label={label} disabled={total === 0} />
        <span class="spring" />
        <button type="button" disabled={loaded.loading} onClick={changed}>
          <Icon name="refresh" /> Refresh
        </button>
      </div>
      {total === 0 && (
        <p class="empty">
          {label === '' ? 'No examples yet. Train it first.' : 'No examples have this label.'}
        </p>
      )}
      {examples.length > 0 && (
        <ExampleTable
          examples={examples}
          before={before}
          onAsk={(action, at) => {
            const example = examples[at] as Example;
            setAsked({ action, shown: { example, after: examples[at - 1]?.exampleId ?? after, label } });
          }}
        />
      )}
      {total > 0 && (
        <Pager
          from={before + 1}
          to={before + examples.length}
          total={total}
          onBack={starts.length === 1 ? undefined : () => setStarts(starts.slice(0, -1))}
          onNext={
            isLast
              ? undefined
              : () => {
                  const last = examples.at(-1)?.exampleId ?? after;
                  setStarts([...starts, { after: last, before: before + examples.length }]);
                }
          }
        />
      )}
      {asked?.action === 'correct' && (
        <CorrectExample {...dialog} {...asked} labels={classes.map(({ label }) => label)} />
      )}
      {asked?.action === 'delete' && <DeleteExample {...dialog} {...asked} />}
    </>
  );
}

interface ExampleTableProps {
  examples: Example[];
  /** How many examples there are before these. */
  before: number;
  onAsk(action: 'correct' | 'delete', at: number): void;
}

function ExampleTable({ examples, before, onAsk }: ExampleTableProps) {
  return (
    <Scrolling label="Examples">
      <table class="facts examples">
        <TableHead names={['Label', 'Text', 'Trained']}>
          <ActionsHead />
        </TableHead>
        <tbody>
          {examples.map(({ exampleId, label, context, trainedAt }, at) => (
            <tr key={exampleId}>
              <td class="cut-text" title={label}>
                {label}
              </td>
              <td class="example-text">
                <p>
                  {context.slice(0, textCharactersMax)}
                  {context.length > textCharactersMax && ' …'}
                </p>
              </td>
              <td class="time">{moment(trainedAt)}</td>
              <td class="right">
                <Menu
                  label={`Actions for example ${before + at + 1}`}
                  items={[
                    { label: 'Correct', needs: 'classifiers:train', run: () => onAsk('correct', at) },
                    {
                      label: 'Delete',
                      danger: true,
                      needs: 'classifiers:train',
                      run: () => onAsk('delete', at),
                    },
                  ]}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

const files = downloads.filter(({ format }) => format === 'csv' || format === 'ndjson');

interface DownloadsProps {
  classifier: Classifier;
  label: string;
  disabled: boolean;
}

/** Each file can be trained with as it is. */
function Downloads({ classifier, label, disabled }: DownloadsProps) {
  const { classifierId, name } = classifier;
  const { busy, run } = useAction();
  const save = async ({ format, accept }: (typeof files)[number]) => {
    const failed = await run(async () => {
      const query = label === '' ? '' : `?label=${part(label)}`;
      const response = await call(`v1/classifiers/${part(classifierId)}/examples${query}`, { accept });
      const blob = await response.blob();
      saveBlob(blob, `${fileName(`${name} examples`)}.${format}`);
      notify(`Downloaded ${bytes(blob.size)}.`);
    });
    if (failed !== undefined) notify(failed.detail ?? 'The download failed.');
  };
  return files.map((file) => (
    <button key={file.format} type="button" disabled={disabled || busy} onClick={() => void save(file)}>
      Download {file.name}
    </button>
  ));
}

interface ShownExample {
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
  /** The example was changed since it was shown. */
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
    const of = `v1/classifiers/${part(classifierId)}`;
    await changeDocument(of, { isAsShown, send: (headers) => call(path, { ...sent, headers }) });
  } catch (err) {
    if (isChanged(err)) onStale();
    throw err;
  }
  onChanged();
}

function CorrectExample({ labels, ...props }: ExampleDialogProps & { labels: string[] }) {
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

function DeleteExample(props: ExampleDialogProps) {
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
