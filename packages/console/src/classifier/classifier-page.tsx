/** A classifier: ask it, teach it, see how good it is. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../api/client.ts';
import { may } from '../api/permissions.ts';
import type { Classifier } from '../api/types.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { count, counted } from '../parts/format.ts';
import { useLoad } from '../parts/load.tsx';
import { Menu } from '../parts/menu.tsx';
import { notify } from '../parts/notice.tsx';
import { Loading, PageHead, Tabs } from '../parts/page.tsx';
import { ProblemBox } from '../parts/problem.tsx';
import { go, route } from '../shell/route.ts';
import { hubId, loadClassifiers } from '../shell/workspace.ts';
import { EvaluationView } from './evaluation-view.tsx';
import { PredictView } from './predict-view.tsx';
import { TrainView } from './train-view.tsx';

const allTabs = [
  ['predict', 'Predict', 'classifiers:predict'],
  ['train', 'Train', 'classifiers:train'],
  ['classes', 'Classes', 'classifiers:read'],
  ['evaluation', 'Evaluation', 'classifiers:read'],
] as const;

export function ClassifierPage({ classifierId }: { classifierId: string }) {
  const path = `v1/classifiers/${part(classifierId)}`;
  const loaded = useLoad((signal) => callJson<Classifier>(path, { signal }), [classifierId]);
  const [deleting, setDeleting] = useState(false);
  const classifier = loaded.value;
  if (loaded.problem !== undefined) return <ProblemBox problem={loaded.problem} />;
  if (classifier === undefined) return <Loading what="the classifier" />;
  const classes = classifier.classes ?? [];
  const examples = classes.reduce((sum, { observations }) => sum + observations, 0);
  const tabs = allTabs.filter(([, , scope]) => may(scope)).map(([name, label]) => [name, label] as const);
  const start = classes.length === 0 ? 'train' : 'predict';
  const wanted = [route.value[4], start, 'classes'];
  const tab = wanted.find((one) => tabs.some(([name]) => name === one));
  const remove = async () => {
    await call(path, { method: 'DELETE' });
    await loadClassifiers();
    go('hub', hubId.value ?? '');
  };
  return (
    <div>
      <PageHead
        title={classifier.name || 'Classifier'}
        tags={[counted(classes.length, 'class', 'classes'), counted(examples, 'example')]}
      >
        <Menu
          label="More actions"
          items={[
            { label: 'Delete', danger: true, needs: 'classifiers:write', run: () => setDeleting(true) },
          ]}
        />
      </PageHead>
      <Tabs
        label="Parts of the classifier"
        tabs={tabs}
        value={tab ?? ''}
        onChange={(name) => go('hub', hubId.value ?? '', 'classifier', classifierId, name)}
      />
      <div class="page narrow">
        {tab === 'predict' && <PredictView classifierId={classifierId} />}
        {tab === 'train' && (
          <TrainView
            classifierId={classifierId}
            labels={classes.map(({ label }) => label)}
            onTrained={loaded.refresh}
          />
        )}
        {tab === 'classes' && <Classes classifier={classifier} onChanged={loaded.refresh} />}
        {tab === 'evaluation' && <EvaluationView classifierId={classifierId} />}
      </div>
      {deleting && (
        <FormDialog
          title={`Delete “${classifier.name}”?`}
          action="Delete classifier"
          danger
          onClose={() => setDeleting(false)}
          onSubmit={remove}
        >
          <p>What it has learned is deleted with it.</p>
        </FormDialog>
      )}
    </div>
  );
}

type Class = NonNullable<Classifier['classes']>[number];

function Classes({ classifier, onChanged }: { classifier: Classifier; onChanged(): void }) {
  const [doomed, setDoomed] = useState<Class>();
  const classes = [...(classifier.classes ?? [])].sort((a, b) => b.observations - a.observations);
  const most = classes[0]?.observations ?? 1;
  const remove = async () => {
    if (doomed === undefined) return;
    await call(`v1/classifiers/${part(classifier.classifierId)}/classes/${part(doomed.classId)}`, {
      method: 'DELETE',
    });
    notify(`Deleted the class “${doomed.label}”.`);
    onChanged();
  };
  if (classes.length === 0)
    return <p class="empty">No classes yet. Each label that it is trained with becomes one.</p>;
  return (
    <>
      <ul class="items">
        {classes.map((one) => (
          <li key={one.classId} class="item">
            <span class="class-name">{one.label}</span>
            <meter
              class="share"
              min={0}
              max={most}
              value={one.observations}
              aria-label={`Examples of ${one.label}`}
            />
            <span class="note right">{count(one.observations)}</span>
            <Menu
              label={`Actions for ${one.label}`}
              items={[
                {
                  label: 'Delete class',
                  danger: true,
                  needs: 'classifiers:write',
                  run: () => setDoomed(one),
                },
              ]}
            />
          </li>
        ))}
      </ul>
      {doomed !== undefined && (
        <FormDialog
          title={`Delete the class “${doomed.label}”?`}
          action="Delete class"
          danger
          onClose={() => setDoomed(undefined)}
          onSubmit={remove}
        >
          <p>Its {counted(doomed.observations, 'example')} are deleted, and it is no longer predicted.</p>
        </FormDialog>
      )}
    </>
  );
}
