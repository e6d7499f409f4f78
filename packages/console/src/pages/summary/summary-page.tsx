/** Summaries of one or several texts, with the sentences marked where they stand, or of a column of a query's rows. */

import { objectOf } from '@datahub/contract/json-text';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { needs } from '../../state/permissions.ts';
import { go, route } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { CopyBlock } from '../../ui/copy-block.tsx';
import { Field } from '../../ui/field.tsx';
import { PageHead, Tabs } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { OtherResult } from '../../ui/table.tsx';
import { textNames } from '../classifier/examples.ts';
import { type ColumnUse, mayReadRows, QueryRowsFields, useQueryRows } from '../query/query-rows.tsx';
import { UsePost } from '../query/use/use-post.tsx';
import { marksOf } from './marks.ts';

interface Summary extends Answer<'POST /v1/ai/summarize'> {
  /** What was summarised, as it was then; empty for a column. */
  of: string[];
  /** The body of the call. */
  body: string;
}

const tabs = [
  ['texts', 'Texts'],
  ['column', 'A column of a query'],
  ['use', 'Use it'],
] as const;

export function SummaryPage() {
  const possible = tabs.filter(([name]) => name !== 'column' || mayReadRows());
  const tab = possible.find(([name]) => name === route.value[3])?.[0] ?? 'texts';
  const show = (name: string) => go('hub', hubId.value ?? '', 'summary', ...(name === 'texts' ? [] : [name]));
  return (
    <div>
      <PageHead title="Summaries" />
      <Tabs label="What to summarise" tabs={possible} value={tab} onChange={show} />
      <div class="page">
        {tab === 'texts' && <TextsSummary />}
        {tab === 'column' && <ColumnSummary />}
        {tab === 'use' && <UseSummary />}
      </div>
    </div>
  );
}

function UseSummary() {
  const [text, setText] = useState(
    'The parcel came late. The tea is fresh. We will order again, because the tea is the best in town.',
  );
  return (
    <UsePost
      path="v1/ai/summarize"
      body={{ context: [text], options: { sentences: 1 } }}
      answer="{ generated: string; generator: string }"
      scope="ai:summarize"
    >
      <Field label="Text" value={text} onInput={setText} rows={3} />
    </UsePost>
  );
}

function TextsSummary() {
  const [texts, setTexts] = useState(['']);
  const given = texts.filter((text) => text.trim() !== '');
  return (
    <SummaryForm
      disabled={given.length === 0}
      hint="The summary appears here. It consists of sentences of the texts, and each is marked in its text."
      request={(options) => ({ body: JSON.stringify({ context: given, options }), of: given })}
    >
      <Texts texts={texts} onChange={setTexts} />
    </SummaryForm>
  );
}

const uses: ColumnUse[] = [{ member: 'text', label: 'Column of the texts', defaultNames: textNames }];

function ColumnSummary() {
  const rows = useQueryRows(uses);
  return (
    <SummaryForm
      disabled={!rows.isReady}
      hint="The summary appears here. It consists of sentences of the column; each row is a text of its own."
      request={(options) => ({
        body: objectOf([...rows.current, ['options', JSON.stringify(options)]]),
        of: [],
      })}
      isComplete={() => rows.members() !== undefined}
    >
      <QueryRowsFields rows={rows} />
    </SummaryForm>
  );
}

interface SummaryFormProps {
  disabled: boolean;
  /** Stands where the summary will be. */
  hint: string;
  /** The body of the call, and the texts to mark sentences in. */
  request(options: object): { body: string; of: string[] };
  /** Marks values that are missing. */
  isComplete?(): boolean;
  children: ComponentChildren;
}

function SummaryForm({ disabled, hint, request, isComplete, children }: SummaryFormProps) {
  const [length, setLength] = useState<Length>({ sentences: '3', maxWords: '', language: '' });
  const [summary, setSummary] = useState<Summary>();
  const { busy, problem, run } = useAction();
  const shown = request(optionsOf(length));
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isComplete?.() === false) return;
    const asked = shown;
    await run(async () => {
      const answer = await callJson<Omit<Summary, 'of' | 'body'>>('v1/ai/summarize', {
        body: asked.body,
        reads: true,
      });
      setSummary({ ...answer, ...asked });
    });
  };
  return (
    <div class="columns-2 summary">
      <form class="form" onSubmit={submit}>
        {children}
        <LengthFields length={length} onChange={(change) => setLength({ ...length, ...change })} />
        {problem !== undefined && <ProblemBox problem={problem} />}
        <div class="actions start">
          <button type="submit" class="primary" {...needs('ai:summarize', busy || disabled)}>
            Summarise
          </button>
        </div>
      </form>
      <section aria-label="Result" class="prose">
        {summary !== undefined && summary.body !== shown.body && (
          <OtherResult>This is a summary of what stood here before.</OtherResult>
        )}
        {summary === undefined ? <p class="empty">{hint}</p> : <Shown summary={summary} />}
      </section>
    </div>
  );
}

interface Length {
  sentences: string;
  maxWords: string;
  language: string;
}

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

const optionsOf = ({ sentences, maxWords, language }: Length) => ({
  ...(whole(sentences) === undefined ? {} : { sentences: whole(sentences) }),
  ...(whole(maxWords) === undefined ? {} : { maxWords: whole(maxWords) }),
  ...(language.trim() === '' ? {} : { language: language.trim() }),
});

function LengthFields({ length, onChange }: { length: Length; onChange(change: Partial<Length>): void }) {
  return (
    <div class="columns-3">
      <Field label="Sentences" value={length.sentences} onInput={(sentences) => onChange({ sentences })} />
      <Field
        label="Maximum words"
        value={length.maxWords}
        onInput={(maxWords) => onChange({ maxWords })}
        placeholder="no limit"
      />
      <Field
        label="Language"
        value={length.language}
        onInput={(language) => onChange({ language })}
        placeholder="detected"
      />
    </div>
  );
}

function Texts({ texts, onChange }: { texts: string[]; onChange(texts: string[]): void }) {
  const single = texts.length === 1;
  return (
    <>
      {texts.map((text, i) => (
        <Field
          key={i}
          label={single ? 'Text' : `Text ${i + 1}`}
          value={text}
          rows={single ? 12 : 6}
          onInput={(next) => onChange(texts.map((one, at) => (at === i ? next : one)))}
        />
      ))}
      <div class="actions start">
        <button type="button" onClick={() => onChange([...texts, ''])}>
          Add a text
        </button>
        {!single && (
          <button type="button" class="quiet" onClick={() => onChange(texts.slice(0, -1))}>
            Remove the last
          </button>
        )}
      </div>
    </>
  );
}

function Shown({ summary: { generated, of } }: { summary: Summary }) {
  return (
    <>
      <CopyBlock text={generated} label="Summary" />
      {of.map((text, i) => (
        <article key={i} class="marked">
          {of.length > 1 && <h2>Text {i + 1}</h2>}
          <p>
            {marksOf(text, generated).map((piece, at) =>
              piece.marked ? <mark key={at}>{piece.text}</mark> : <span key={at}>{piece.text}</span>,
            )}
          </p>
        </article>
      ))}
    </>
  );
}
