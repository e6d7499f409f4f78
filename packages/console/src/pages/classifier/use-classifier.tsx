/** Calls of a classifier from a shell and a program. */

import { useState } from 'preact/hooks';
import { part } from '../../api/client.ts';
import type { Classifier } from '../../api/types.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { UsePost } from '../query/use/use-post.tsx';

export function UseClassifier({ classifier }: { classifier: Classifier }) {
  const { classifierId, classes = [] } = classifier;
  const [text, setText] = useState('my parcel has not arrived');
  const [label, setLabel] = useState('');
  const [does, setDoes] = useState('predict');
  const trains = does === 'train';
  const trained = label || (classes[0]?.label ?? 'delivery');
  return (
    <UsePost
      path={`v1/classifiers/${part(classifierId)}/${does}`}
      body={trains ? { label: trained, context: text } : { context: text }}
      answer={
        trains
          ? '{ classId: string; observations: number }'
          : '{ label: string; confidence: number; scores: { label: string; confidence: number }[] }'
      }
      scope={trains ? 'classifiers:train' : 'classifiers:predict'}
    >
      <div class="columns-2">
        <Choice
          label="The call"
          value={does}
          options={[
            ['predict', 'Predicts the label of a text'],
            ['train', 'Learns an example'],
          ]}
          onChange={setDoes}
        />
        {trains && (
          <Field
            label="Label"
            value={label}
            onInput={setLabel}
            placeholder={trained}
            suggestions={classes.map((one) => one.label)}
          />
        )}
      </div>
      <Field label="Text" value={text} onInput={setText} />
    </UsePost>
  );
}
