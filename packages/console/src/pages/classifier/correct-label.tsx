/** Teaches a classifier the right label of a text. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import type { Prediction } from '../../api/types.ts';
import { may, needs } from '../../state/permissions.ts';
import { useAction } from '../../ui/action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { confidenceText } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';

const offeredMax = 20;

interface CorrectLabelProps {
  classifierId: string;
  text: string;
  /** The label that is shown. */
  label: string;
  /** The labels, the likeliest first. */
  scores: Prediction['scores'];
  onCorrected(label: string): void;
}

export function CorrectLabel({ classifierId, text, label, scores, onCorrected }: CorrectLabelProps) {
  const [other, setOther] = useState('');
  const { busy, problem, run } = useAction();
  const correct = async (right: string) => {
    await run(async () => {
      await call(`v1/classifiers/${part(classifierId)}/train`, { body: { label: right, context: text } });
      notify(`Learned that this is “${right}”.`);
      onCorrected(right);
    });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (other.trim() !== '') void correct(other.trim());
  };
  return (
    <>
      <ul class="corrections" aria-label="The right label">
        {scores.slice(0, offeredMax).map(({ classId, label: one, confidence }) => (
          <li key={classId}>
            <button type="button" onClick={() => void correct(one)} {...needs('classifiers:train', busy)}>
              <span>{one}</span>
              <span class="note">
                {one === label && 'now · '}
                {confidenceText(confidence)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {may('classifiers:train') && (
        <form class="form" onSubmit={submit}>
          <Field
            label="Another label"
            value={other}
            onInput={setOther}
            hint="It is saved as an example, and the next prediction knows it."
          />
          <div class="actions start">
            <button type="submit" disabled={busy || other.trim() === ''}>
              Learn it
            </button>
          </div>
        </form>
      )}
      {problem !== undefined && <ProblemBox problem={problem} />}
    </>
  );
}

interface CorrectDialogProps extends Omit<CorrectLabelProps, 'classifierId' | 'scores'> {
  classifier: { classifierId: string; name: string };
  onClose(): void;
}

export function CorrectDialog({ classifier, text, label, onCorrected, onClose }: CorrectDialogProps) {
  const { classifierId, name } = classifier;
  const path = `v1/classifiers/${part(classifierId)}/predict`;
  const loaded = useLoad(
    (signal) => callJson<Prediction>(path, { body: { context: text }, signal, reads: true }),
    [classifierId, text],
  );
  return (
    <Dialog title={label === '' ? 'It is …' : `Not “${label}”? It is …`} onClose={onClose}>
      <blockquote class="labelled-text">{text}</blockquote>
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {loaded.value === undefined && loaded.problem === undefined && (
        <Loading what={`the labels of ${name}`} />
      )}
      {loaded.value !== undefined && (
        <CorrectLabel
          classifierId={classifierId}
          text={text}
          label={label}
          scores={loaded.value.scores}
          onCorrected={(right) => {
            onCorrected(right);
            onClose();
          }}
        />
      )}
    </Dialog>
  );
}
