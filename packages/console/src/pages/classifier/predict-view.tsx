import { useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../../api/client.ts';
import type { Prediction, Problem } from '../../api/types.ts';
import { Field } from '../../ui/field.tsx';
import { percent } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';

const scoresShownMax = 10;

export function PredictView({ classifierId }: { classifierId: string }) {
  const [text, setText] = useState('');
  const [found, setFound] = useState<Prediction>();
  const [problem, setProblem] = useState<Problem>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(undefined);
    try {
      setFound(
        await callJson<Prediction>(`v1/classifiers/${part(classifierId)}/predict`, {
          body: { context: text },
        }),
      );
    } catch (err) {
      setFound(undefined);
      setProblem(problemOf(err));
    }
  };
  return (
    <>
      <form class="form" onSubmit={submit}>
        <Field
          label="Text"
          value={text}
          onInput={setText}
          rows={4}
          autofocus
          placeholder="my parcel has not arrived"
        />
        <div class="actions start">
          <button type="submit" class="primary" disabled={text.trim() === ''}>
            Predict
          </button>
        </div>
      </form>
      {problem !== undefined && <ProblemBox problem={problem} />}
      {found !== undefined && (
        <section class="prediction" aria-label="Prediction">
          <p>
            <strong class="big-word">{found.label}</strong>{' '}
            <span class="note">with {percent(found.confidence)} confidence</span>
          </p>
          <ul class="items">
            {found.scores.slice(0, scoresShownMax).map(({ classId, label, confidence }) => (
              <li key={classId} class="item">
                <span class="class-name">{label}</span>
                <meter
                  class="share"
                  min={0}
                  max={1}
                  value={confidence}
                  aria-label={`Confidence in ${label}`}
                />
                <span class="note right">{percent(confidence)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
