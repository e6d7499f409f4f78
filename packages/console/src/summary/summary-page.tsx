/** Summaries of one or several texts, with the sentences marked where they stand. */

import { useState } from 'preact/hooks';
import { callJson, problemOf } from '../api/client.ts';
import { needs } from '../api/permissions.ts';
import type { Problem } from '../api/types.ts';
import { CopyBlock } from '../parts/copy.tsx';
import { Field } from '../parts/field.tsx';
import { PageHead } from '../parts/page.tsx';
import { ProblemBox } from '../parts/problem.tsx';
import { marksOf } from './marks.ts';

interface Summary {
  generated: string;
  generator: string;
  /** What was summarised, as it was then. */
  of: string[];
}

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

export function SummaryPage() {
  const [texts, setTexts] = useState(['']);
  const [sentences, setSentences] = useState('3');
  const [maxWords, setMaxWords] = useState('');
  const [language, setLanguage] = useState('');
  const [summary, setSummary] = useState<Summary>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const given = texts.filter((text) => text.trim() !== '');
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    const options = {
      ...(whole(sentences) === undefined ? {} : { sentences: whole(sentences) }),
      ...(whole(maxWords) === undefined ? {} : { maxWords: whole(maxWords) }),
      ...(language.trim() === '' ? {} : { language: language.trim() }),
    };
    try {
      const answer = await callJson<Omit<Summary, 'of'>>('v1/ai/summarize', {
        body: { context: given, options },
      });
      setSummary({ ...answer, of: given });
    } catch (err) {
      setProblem(problemOf(err));
    }
    setBusy(false);
  };
  return (
    <div class="page">
      <PageHead title="Summaries" />
      <div class="columns-2 summary">
        <form class="form" onSubmit={submit}>
          <Texts texts={texts} onChange={setTexts} />
          <div class="columns-3">
            <Field label="Sentences" value={sentences} onInput={setSentences} />
            <Field label="Words at most" value={maxWords} onInput={setMaxWords} placeholder="no limit" />
            <Field label="Language" value={language} onInput={setLanguage} placeholder="detected" />
          </div>
          {problem !== undefined && <ProblemBox problem={problem} />}
          <div class="actions start">
            <button type="submit" class="primary" {...needs('ai:summarize', busy || given.length === 0)}>
              Summarise
            </button>
          </div>
        </form>
        <section aria-label="Summary">
          {summary === undefined ? (
            <p class="empty">
              The summary appears here. It consists of sentences of the texts, and each is marked in its text.
            </p>
          ) : (
            <Shown summary={summary} />
          )}
        </section>
      </div>
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
