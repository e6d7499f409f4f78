/** Teaches a classifier: an example that is typed, many that are pasted, a file, or the rows of a query. */

import { objectOf } from '@datahub/contract/json-text';
import { useRef, useState } from 'preact/hooks';
import { call, callJson, Failure, isAborted, part, problemOf } from '../../api/client.ts';
import type { Classifier, Problem } from '../../api/types.ts';
import { go } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { Field } from '../../ui/field.tsx';
import { count, counted } from '../../ui/format.ts';
import { notify } from '../../ui/notice.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { type ColumnUse, mayReadRows, QueryRowsFields, useQueryRows } from '../query/query-rows.tsx';
import { batches, labelNames, type Parsed, parseExamples, textNames } from './examples.ts';
import { type ChosenFile, FileImport } from './file-import.tsx';
import { formatOf } from './import.ts';
import { JobView } from './job-view.tsx';
import { requireUtf8 } from './utf8-file.ts';

const batchSize = 500;
const fileBytesMax = 64 * 1_024 * 1_024;

const tooLarge = () =>
  new Failure({
    status: 0,
    title: 'The file cannot be read',
    detail: 'A file of more than 64 MiB must be CSV or NDJSON that names the columns label and context.',
  });

interface TrainViewProps {
  classifier: Classifier;
  /** The training from a query that the address names. */
  jobId: string | undefined;
  onChanged(): void;
}

export function TrainView({ classifier, jobId, onChanged }: TrainViewProps) {
  const { classifierId, classes } = classifier;
  const show = (...job: string[]) =>
    go('hub', hubId.value ?? '', 'classifier', classifierId, 'train', ...job);
  const shared = { classifierId, onTrained: onChanged };
  return (
    <>
      {jobId !== undefined && (
        <>
          <JobView key={jobId} jobId={jobId} onTrained={onChanged} onLeave={() => show()} />
          <hr />
        </>
      )}
      <TypeExample {...shared} labels={classes.map(({ label }) => label)} />
      <hr />
      <ManyExamples {...shared} />
      {jobId === undefined && mayReadRows() && (
        <>
          <hr />
          <QueryTraining classifierId={classifierId} onStarted={show} />
        </>
      )}
    </>
  );
}

interface TrainingProps {
  classifierId: string;
  onTrained(): void;
}

function TypeExample({ classifierId, labels, onTrained }: TrainingProps & { labels: string[] }) {
  const [label, setLabel] = useState('');
  const [text, setText] = useState('');
  const { problem, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    await run(async () => {
      await call(`v1/classifiers/${part(classifierId)}/train`, {
        body: { label: label.trim(), context: text },
      });
      notify(`Learned an example of “${label.trim()}”.`);
      setText('');
      onTrained();
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <h2>One example</h2>
      <Field label="Label" value={label} onInput={setLabel} suggestions={labels} />
      <Field label="Text" value={text} onInput={setText} rows={3} />
      {problem !== undefined && <ProblemBox problem={problem} />}
      <div class="actions start">
        <button type="submit" class="primary" disabled={label.trim() === '' || text.trim() === ''}>
          Train
        </button>
      </div>
    </form>
  );
}

interface Progress {
  done: number;
  total: number;
  running: boolean;
}

/** Sends what was read in batches; what was stopped or failed goes on where it was. */
function useTraining(classifierId: string, onTrained: () => void) {
  const [parsed, setParsed] = useState<Parsed>();
  const [progress, setProgress] = useState<Progress>();
  const [problem, setProblem] = useState<Problem>();
  const stop = useRef<AbortController | undefined>(undefined);
  /** Names the examples that were read: a batch is learned once, also where its answer was lost and it is sent again. */
  const run = useRef({ id: '', done: 0 });
  const read = (input: string) => {
    setProgress(undefined);
    setProblem(undefined);
    run.current = { id: `${Date.now()}-${Math.random()}`, done: 0 };
    setParsed(input.trim() === '' ? undefined : parseExamples(input));
  };
  const train = async () => {
    const { examples = [] } = parsed ?? {};
    const stopping = new AbortController();
    stop.current = stopping;
    const mine = run.current;
    // Others can be read meanwhile, which begin anew.
    const isShown = () => run.current === mine;
    const tell = (running: boolean) =>
      isShown() && setProgress({ done: mine.done, total: examples.length, running });
    setProblem(undefined);
    tell(true);
    try {
      for (const batch of batches(examples.slice(mine.done), batchSize)) {
        await call(`v1/classifiers/${part(classifierId)}/train`, {
          body: { examples: batch },
          headers: { 'idempotency-key': `${mine.id}-${mine.done}` },
          signal: stopping.signal,
        });
        mine.done += batch.length;
        tell(true);
      }
      if (isShown()) setParsed(undefined);
    } catch (err) {
      const failed = isAborted(err) ? undefined : problemOf(err);
      if (isShown()) setProblem(failed);
      else if (failed !== undefined) notify(failed.detail ?? 'The training of the examples before failed.');
    }
    tell(false);
    onTrained();
  };
  return { parsed, progress, problem, read, train, refuse: setProblem, stop: () => stop.current?.abort() };
}

function ManyExamples({ classifierId, onTrained }: TrainingProps) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<ChosenFile>();
  const { parsed, progress, problem, read, train, refuse, stop } = useTraining(classifierId, onTrained);
  const latest = useRef<File | undefined>(undefined);
  const readFile = async (file: File | undefined) => {
    latest.current = file;
    if (file === undefined) return;
    setText('');
    read('');
    setChosen(undefined);
    try {
      await requireUtf8(file);
      const format = await formatOf(file);
      if (format === undefined && file.size > fileBytesMax) throw tooLarge();
      const content = format === undefined ? await file.text() : '';
      // Another file was chosen, or something was pasted.
      if (latest.current !== file) return;
      if (format === undefined) read(content);
      else setChosen({ file, format });
    } catch (err) {
      if (latest.current === file) refuse(problemOf(err));
    }
  };
  const left = (parsed?.examples.length ?? 0) - (progress?.done ?? 0);
  return (
    <section class="form" aria-label="Many examples">
      <h2>Many examples</h2>
      <Field
        label="Paste"
        value={text}
        rows={5}
        onInput={(next) => {
          latest.current = undefined;
          setText(next);
          setChosen(undefined);
          read(next);
        }}
        placeholder={'delivery,where is my parcel\nrefund,I want my money back'}
        hint="A label and a text in each line: CSV, tabs, or NDJSON with label and context. A first line with names is understood."
      />
      <label class="file">
        <span>or a file</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl"
          onChange={({ currentTarget }) => void readFile(currentTarget.files?.[0])}
        />
      </label>
      {parsed !== undefined && <ParsedNote parsed={parsed} />}
      {progress !== undefined && <ProgressLine progress={progress} onStop={stop} />}
      {problem !== undefined && <ProblemBox problem={problem} />}
      {chosen !== undefined && (
        <FileImport classifierId={classifierId} chosen={chosen} onTrained={onTrained} />
      )}
      {chosen === undefined && (
        <div class="actions start">
          <button
            type="button"
            class="primary"
            disabled={parsed === undefined || parsed.examples.length === 0 || progress?.running === true}
            onClick={() => void train()}
          >
            {parsed === undefined ? 'Train' : `Train ${counted(left, 'example')}`}
          </button>
        </div>
      )}
    </section>
  );
}

function ProgressLine({ progress, onStop }: { progress: Progress; onStop(): void }) {
  return (
    <div class="progress" role="status">
      <progress max={progress.total} value={progress.done} aria-label="Examples learned" />
      <span>
        {count(progress.done)} of {count(progress.total)} learned
      </span>
      {progress.running && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
    </div>
  );
}

function ParsedNote({ parsed: { examples, faults, skipped } }: { parsed: Parsed }) {
  const labels = [...new Set(examples.slice(0, 10_000).map(({ label }) => label))];
  return (
    <div class="banner">
      <p>
        {counted(examples.length, 'example')} of {counted(labels.length, 'label')}:{' '}
        {labels.slice(0, 8).join(', ')}
        {labels.length > 8 && ' …'}
      </p>
      {skipped > 0 && (
        <p>
          {counted(skipped, 'line')} left out:{' '}
          {faults.map(({ line, detail }) => `line ${line} ${detail}`).join('; ')}
        </p>
      )}
    </div>
  );
}

const uses: ColumnUse[] = [
  { member: 'text', label: 'Column of the text', defaultNames: textNames },
  { member: 'label', label: 'Column of the label', defaultNames: labelNames },
  {
    member: 'id',
    label: 'Column of the id',
    defaultNames: ['id'],
    hint: 'Identifies a row. The next time, rows that did not change are skipped.',
  },
];

interface QueryTrainingProps {
  classifierId: string;
  onStarted(jobId: string): void;
}

function QueryTraining({ classifierId, onStarted }: QueryTrainingProps) {
  const rows = useQueryRows(uses);
  const { busy, problem, run } = useAction({ leaves: true });
  const submit = async (event: Event) => {
    event.preventDefault();
    const members = rows.members();
    if (members === undefined) return;
    await run(async () => {
      const path = `v1/classifiers/${part(classifierId)}/train`;
      const { jobId } = await callJson<{ jobId: string }>(path, { body: objectOf(members) });
      onStarted(jobId);
    });
  };
  return (
    <form class="form" onSubmit={submit} aria-label="Rows of a query">
      <h2>Rows of a query</h2>
      <QueryRowsFields rows={rows} />
      {problem !== undefined && <ProblemBox problem={problem} />}
      <div class="actions start">
        <button type="submit" class="primary" disabled={busy || !rows.isReady}>
          Train with its rows
        </button>
      </div>
    </form>
  );
}
