/** The classes of a classifier, the largest first. */

import { useState } from 'preact/hooks';
import { call, part } from '../../api/client.ts';
import type { Classifier } from '../../api/types.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { count, counted } from '../../ui/format.ts';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';

type Class = Classifier['classes'][number];

export function ClassesView({ classifier, onChanged }: { classifier: Classifier; onChanged(): void }) {
  const [doomed, setDoomed] = useState<Class>();
  const classes = classifier.classes.toSorted((a, b) => b.observations - a.observations);
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
