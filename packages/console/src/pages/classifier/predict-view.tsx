/** Predicts the label of a text, and learns from a correction. */

import { useRef, useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Prediction } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { useAction } from '../../ui/action.ts';
import { Field } from '../../ui/field.tsx';
import { confidenceText } from '../../ui/format.ts';
import { ProblemBox } from '../../ui/problem.tsx';
import { OtherResult } from '../../ui/table.tsx';
import { CorrectLabel } from './correct-label.tsx';
import { MeasuredAccuracy } from './measured-accuracy.tsx';

const scoresShownMax = 10;

interface Predicted {
  /** The text that was predicted. */
  of: string;
  found: Prediction;
}

interface PredictViewProps {
  classifierId: string;
  onTrained(): void;
}

export function PredictView({ classifierId, onTrained }: PredictViewProps) {
  const [text, setText] = useState('');
  const [trained, setTrained] = useState(0);
  const [predicted, setPredicted] = useState<Predicted>();
  /** Stops the question before: its answer would stand beside another text. */
  const asking = useRef<AbortController | undefined>(undefined);
  const { problem, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    await predict(text);
  };
  const predict = async (asked: string) => {
    asking.current?.abort();
    const stop = new AbortController();
    asking.current = stop;
    const { signal } = stop;
    const path = `v1/classifiers/${part(classifierId)}/predict`;
    const failed = await run(async () => {
      const found = await callJson<Prediction>(path, { body: { context: asked }, reads: true, signal });
      signal.throwIfAborted();
      setPredicted({ of: asked, found });
    });
    if (failed !== undefined) setPredicted(undefined);
  };
  const { of = '', found } = predicted ?? {};
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
      {found !== undefined && text !== of && (
        <OtherResult>This is the label of “{of.length > 80 ? `${of.slice(0, 80)} …` : of}”.</OtherResult>
      )}
      {found !== undefined && (
        <Found
          key={`${of} ${trained}`}
          classifierId={classifierId}
          text={of}
          found={found}
          trained={trained}
          onCorrected={() => {
            setTrained(trained + 1);
            onTrained();
            void predict(of);
          }}
        />
      )}
    </>
  );
}

interface FoundProps {
  classifierId: string;
  text: string;
  found: Prediction;
  /** The number of corrections. */
  trained: number;
  onCorrected(): void;
}

function Found({ classifierId, text, found, trained, onCorrected }: FoundProps) {
  const { label, confidence, scores } = found;
  const [isWrong, setWrong] = useState(false);
  return (
    <section class="prediction" aria-label="Prediction">
      <p>
        <strong class="big-word">{label}</strong>{' '}
        <span class="note">with {confidenceText(confidence)} confidence</span>
        {!isWrong && may('classifiers:train') && (
          <button type="button" class="quiet" onClick={() => setWrong(true)}>
            Correct it
          </button>
        )}
      </p>
      <p class="hint">
        <MeasuredAccuracy classifierId={classifierId} revision={trained} />
      </p>
      {isWrong ? (
        <CorrectLabel {...{ classifierId, text, label, scores }} onCorrected={onCorrected} />
      ) : (
        <ul class="items">
          {scores.slice(0, scoresShownMax).map((score) => (
            <li key={score.classId} class="item">
              <span class="class-name">{score.label}</span>
              <meter
                class="share"
                min={0}
                max={1}
                value={score.confidence}
                aria-label={`Confidence in ${score.label}`}
              />
              <span class="note right">{confidenceText(score.confidence)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
