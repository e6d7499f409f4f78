/** A classifier: ask it, teach it, see what it learned and how good it is. */

import { useRef, useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Classifier } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { go, route } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { counted } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Loading, PageHead, Tabs } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import { UsePost } from '../query/use/use-post.tsx';
import { ClassesView } from './classes-view.tsx';
import { DeleteClassifier, RenameClassifier } from './classifier-dialogs.tsx';
import { EvaluationView } from './evaluation-view.tsx';
import { LabelNextView } from './label-next-view.tsx';
import { PredictView } from './predict-view.tsx';
import { TrainView } from './train-view.tsx';
import { ExamplesView } from './trained-examples/examples-view.tsx';

const allTabs = [
  ['predict', 'Predict', 'classifiers:predict'],
  ['train', 'Train', 'classifiers:train'],
  ['label-next', 'Label next', 'classifiers:train'],
  ['examples', 'Examples', 'classifiers:read'],
  ['classes', 'Classes', 'classifiers:read'],
  ['evaluation', 'Evaluation', 'classifiers:read'],
  ['use', 'Use it', 'classifiers:predict'],
] as const;

/** The tab that the address names, else the one to begin with. */
function tabOf({ classes }: Classifier) {
  const tabs = allTabs.filter(([, , scope]) => may(scope)).map(([name, label]) => [name, label] as const);
  const start = classes.length === 0 ? 'train' : 'predict';
  const wanted = [route.value[4], start, 'classes'];
  return { tabs, tab: wanted.find((one) => tabs.some(([name]) => name === one)) ?? '' };
}

export function ClassifierPage({ classifierId }: { classifierId: string }) {
  const path = `v1/classifiers/${part(classifierId)}`;
  const loaded = useLoad((signal) => callJson<Classifier>(path, { signal }), [classifierId]);
  const [asked, setAsked] = useState<'rename' | 'delete'>();
  /** Stays in the address of the tab, so that coming back to it shows the job. */
  const jobId = useRef<string | undefined>(undefined);
  const classifier = loaded.value;
  if (loaded.problem !== undefined) return <PageProblem problem={loaded.problem} />;
  if (classifier === undefined) return <Loading what="the classifier" />;
  const { tabs, tab } = tabOf(classifier);
  if (tab === 'train') jobId.current = route.value[5];
  const show = (name: string) => {
    const job = name === 'train' && jobId.current !== undefined ? [jobId.current] : [];
    go('hub', hubId.value ?? '', 'classifier', classifierId, name, ...job);
  };
  const classes = classifier.classes;
  const shown = { classifier, onChanged: loaded.refresh };
  return (
    <div>
      <PageHead
        title={classifier.name || 'Classifier'}
        tags={[
          counted(classes.length, 'class', 'classes'),
          counted(
            classes.reduce((sum, { observations }) => sum + observations, 0),
            'example',
          ),
        ]}
      >
        <Menu
          label="More actions"
          items={[
            { label: 'Rename', needs: 'classifiers:write', run: () => setAsked('rename') },
            { label: 'Delete', danger: true, needs: 'classifiers:write', run: () => setAsked('delete') },
          ]}
        />
      </PageHead>
      <Tabs label="Parts of the classifier" tabs={tabs} value={tab} onChange={show} />
      <div class="page narrow">
        {tab === 'predict' && <PredictView classifierId={classifierId} onTrained={loaded.refresh} />}
        {tab === 'train' && <TrainView {...shown} jobId={route.value[5]} />}
        {tab === 'label-next' && <LabelNextView {...shown} />}
        {tab === 'examples' && <ExamplesView {...shown} />}
        {tab === 'classes' && <ClassesView {...shown} />}
        {tab === 'use' && <UseClassifier classifier={classifier} />}
        {tab === 'evaluation' && <EvaluationView classifierId={classifierId} />}
      </div>
      {asked === 'rename' && (
        <RenameClassifier
          classifier={classifier}
          onClose={() => setAsked(undefined)}
          onRenamed={loaded.refresh}
        />
      )}
      {asked === 'delete' && <DeleteClassifier classifier={classifier} onClose={() => setAsked(undefined)} />}
    </div>
  );
}

function UseClassifier({ classifier }: { classifier: Classifier }) {
  const { classifierId, classes } = classifier;
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
