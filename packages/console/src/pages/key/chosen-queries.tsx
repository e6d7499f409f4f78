/** The queries that a key may run, of each hub that it may use. */

import { callJson, part } from '../../api/client.ts';
import type { TreeNode } from '../../api/types.ts';
import type { PartProps } from '../../state/key-form.ts';
import { hubId, hubs, queriesIn, tree } from '../../state/workspace.ts';
import { useLoad } from '../../ui/load.tsx';
import { Chosen } from './chosen.tsx';

export function ChosenQueries({ form: { hubIds, queryIds }, set }: PartProps) {
  const shown = hubIds.length > 0 ? hubIds : [hubId.value ?? ''];
  const others = shown.filter((id) => id !== hubId.value);
  const trees = useLoad(
    (signal) =>
      Promise.all(others.map((id) => callJson<TreeNode>(`v1/hubs/${part(id)}/contents`, { signal }))),
    [others.join()],
  );
  const known = [...(shown.includes(hubId.value ?? '') ? [tree.value] : []), ...(trees.value ?? [])];
  const options = known.flatMap((one) =>
    queriesIn(one).map(({ nodeId, label }) => {
      const hub = known.length > 1 ? hubs.value?.find(({ hubId: id }) => id === one?.nodeId) : undefined;
      return [nodeId, hub === undefined ? label : `${hub.label}: ${label}`] as const;
    }),
  );
  return (
    <div>
      <Chosen
        label="Queries it may run"
        everything={hubIds.length === 1 ? 'Every query of the hub' : 'Every query of the hubs'}
        add="Add a query …"
        ids={queryIds}
        options={options}
        onChange={(ids) => set({ queryIds: ids })}
      />
      {trees.problem !== undefined && <p class="fault">The queries of another hub could not be read.</p>}
    </div>
  );
}
