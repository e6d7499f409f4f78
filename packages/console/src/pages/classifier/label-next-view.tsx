/** Asks for the labels of the texts that a classifier is least certain of: ten texts, a key for each label. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { call, part } from '../../api/client.ts';
import type { Classifier } from '../../api/types.ts';
import { useAction } from '../../ui/action.ts';
import { Field } from '../../ui/field.tsx';
import { confidenceText, counted } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { mayReadRows, QueryRowsFields, useQueryRows } from '../query/query-rows.tsx';
import { textNames } from './examples.ts';
import { type Ask, type Asked, askQuery, askTexts, type Uncertain, wordsOfEnd } from './label-next.ts';
import { readUtf8 } from './utf8-file.ts';

const uses = [{ member: 'text', label: 'Text', defaultNames: textNames }];
const fileBytesMax = 64 * 1_024 * 1_024;

interface LabelNextProps {
  classifier: Classifier;
  onChanged(): void;
}

export function LabelNextView({ classifier, onChanged }: LabelNextProps) {
  const [ask, setAsk] = useState<Ask>();
  const { classifierId } = classifier;
  if (ask !== undefined)
    return <Labelling {...{ classifierId, ask }} onTrained={onChanged} onLeave={() => setAsk(undefined)} />;
  const begin = (next: Ask) => setAsk(() => next);
  return (
    <>
      <p class="hint">
        Labels teach most where the classifier hesitates. It looks through unlabelled texts, and asks for the
        labels of the ten that it is least certain of.
      </p>
      {mayReadRows() && (
        <>
          <FromQuery classifierId={classifierId} onBegin={begin} />
          <hr />
        </>
      )}
      <FromFile classifierId={classifierId} onBegin={begin} />
    </>
  );
}

interface SourceProps {
  classifierId: string;
  onBegin(ask: Ask): void;
}

function FromQuery({ classifierId, onBegin }: SourceProps) {
  const rows = useQueryRows(uses);
  const submit = (event: Event) => {
    event.preventDefault();
    const members = rows.members();
    if (members === undefined) return;
    const values = members.map(([name, json]) => [
      name,
      name === 'context' ? json : (JSON.parse(json) as string),
    ]);
    onBegin(askQuery(classifierId, Object.fromEntries(values)));
  };
  return (
    <form class="form" onSubmit={submit} aria-label="Texts of a query">
      <h2>Texts of a query</h2>
      <QueryRowsFields rows={rows} />
      <div class="actions start">
        <button type="submit" class="primary" disabled={!rows.isReady}>
          Label its rows
        </button>
      </div>
    </form>
  );
}

function FromFile({ classifierId, onBegin }: SourceProps) {
  const [text, setText] = useState('');
  const { problem, run } = useAction();
  const latest = useRef<File | undefined>(undefined);
  const read = (file: File | undefined) =>
    run(async () => {
      latest.current = file;
      if (file === undefined) return;
      if (file.size > fileBytesMax) throw new Error('A file can have at most 64 MiB.');
      const content = await readUtf8(file);
      if (latest.current === file) setText(content);
    });
  return (
    <section class="form" aria-label="Texts of a file">
      <h2>Texts of a file</h2>
      <Field
        label="Paste"
        value={text}
        rows={5}
        onInput={setText}
        placeholder={'where is my parcel\nI want my money back'}
        hint="A text in each line, or CSV or NDJSON with a column context."
      />
      <label class="file">
        <span>or a file</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl"
          onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
        />
      </label>
      {problem !== undefined && <ProblemBox problem={problem} />}
      <div class="actions start">
        <button
          type="button"
          class="primary"
          disabled={text.trim() === ''}
          onClick={() => onBegin(askTexts(classifierId, text))}
        >
          Label its texts
        </button>
      </div>
    </section>
  );
}

interface LabellingProps {
  classifierId: string;
  ask: Ask;
  onTrained(): void;
  onLeave(): void;
}

function useLabelling({ classifierId, ask, onTrained }: LabellingProps) {
  const [asked, setAsked] = useState<Asked>();
  const [at, setAt] = useState(0);
  /** What was labelled or skipped. */
  const [done] = useState(() => new Set<string>());
  const [labels, setLabels] = useState(0);
  const { busy, problem, run } = useAction();
  const next = () =>
    run(async () => {
      setAsked(await ask(done));
      setAt(0);
    });
  useEffect(() => void next(), [ask]);
  const pass = (context: string) => {
    done.add(context);
    setAt(at + 1);
  };
  const learn = (label: string, { context }: Uncertain) =>
    run(async () => {
      await call(`v1/classifiers/${part(classifierId)}/train`, { body: { label, context } });
      pass(context);
      setLabels(labels + 1);
      onTrained();
    });
  const end = asked && wordsOfEnd(asked, done);
  return { texts: asked?.texts, end, at, labels, busy, problem, next, pass, learn };
}

function Labelling(props: LabellingProps) {
  const { texts, end, at, labels, busy, problem, next, pass, learn } = useLabelling(props);
  const text = texts?.[at];
  return (
    <section aria-label="Label next">
      <p class="note" role="status">
        {texts === undefined
          ? 'Looking for the texts that are worth a label …'
          : text === undefined
            ? texts.length === 0
              ? end
              : `Learned ${counted(labels, 'label')}.`
            : `Text ${at + 1} of ${texts.length}, ${counted(labels, 'label')} learned`}
      </p>
      {text !== undefined && (
        <AskedText
          key={text.context}
          text={text}
          busy={busy}
          onLabel={(label) => void learn(label, text)}
          onSkip={() => pass(text.context)}
        />
      )}
      {problem !== undefined && <ProblemBox problem={problem} />}
      <hr />
      <div class="actions start">
        {texts !== undefined && texts.length > 0 && text === undefined && (
          <button type="button" class="primary" disabled={busy} onClick={() => void next()}>
            Next ten
          </button>
        )}
        <button type="button" onClick={props.onLeave}>
          Other texts
        </button>
      </div>
    </section>
  );
}

interface AskedTextProps {
  text: Uncertain;
  busy: boolean;
  onLabel(label: string): void;
  onSkip(): void;
}

function AskedText({ text: { context, scores }, busy, onLabel, onSkip }: AskedTextProps) {
  const [other, setOther] = useState('');
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (isTyping || busy || event.ctrlKey || event.metaKey || event.altKey) return;
      const score = /^[1-9]$/.test(event.key) ? scores[Number(event.key) - 1] : undefined;
      if (score === undefined && event.key !== '0') return;
      event.preventDefault();
      if (score === undefined) onSkip();
      else onLabel(score.label);
    };
    addEventListener('keydown', keydown);
    return () => removeEventListener('keydown', keydown);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (other.trim() !== '') onLabel(other.trim());
  };
  return (
    <>
      <blockquote class="labelled-text">{context}</blockquote>
      <ul class="corrections" aria-label="The label of this text">
        {scores.map(({ classId, label, confidence }, i) => (
          <li key={classId}>
            <button type="button" disabled={busy} onClick={() => onLabel(label)}>
              <span>
                <kbd>{i + 1}</kbd> {label}
              </span>
              <span class="note">{confidenceText(confidence)}</span>
            </button>
          </li>
        ))}
        <li>
          <button type="button" disabled={busy} onClick={onSkip}>
            <span>
              <kbd>0</kbd> Skip it
            </span>
          </button>
        </li>
      </ul>
      <form class="form" onSubmit={submit}>
        <Field label="Another label" value={other} onInput={setOther} />
        <div class="actions start">
          <button type="submit" disabled={busy || other.trim() === ''}>
            Learn it
          </button>
        </div>
      </form>
    </>
  );
}
