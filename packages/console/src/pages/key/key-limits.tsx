/** The part of the form of a key that limits what its scopes allow. */

import { withheldValue } from '@datahub/contract/key-limits';
import { callJson, part } from '../../api/client.ts';
import type { TreeNode } from '../../api/types.ts';
import { daysMax, hasWrongNumber, type PartProps } from '../../state/key-form.ts';
import { editorOf } from '../../state/stored-query-editor.ts';
import { classifiers, hubId, hubs, nodesIn, tree } from '../../state/workspace.ts';
import { Chips } from '../../ui/chips.tsx';
import { Field } from '../../ui/field.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Chosen } from './chosen.tsx';
import { Pairs } from './pairs.tsx';
import { SignedInUsers } from './signed-in-users.tsx';

interface KeyLimitsProps extends PartProps {
  /** When a key without days ends. */
  end: string;
}

export function KeyLimits({ form, set, end }: KeyLimitsProps) {
  const { everything, scopes, hubIds, queryIds, queries } = form;
  return (
    <>
      <div class="columns-2">
        <Chosen
          label="Hubs it may use"
          everything="Every hub"
          add="Add a hub …"
          ids={form.hubIds}
          options={(hubs.value ?? []).map(({ hubId: id, label }) => [id, label] as const)}
          onChange={(hubIds) => set({ hubIds })}
        />
        <ChosenQueries form={form} set={set} />
      </div>
      {(everything || scopes.some((scope) => /^classifiers:(train|read)$/.test(scope))) && (
        <Chosen
          label="Classifiers it may train"
          everything={hubIds.length + queryIds.length + queries.length > 0 ? 'None' : 'Every classifier'}
          add="Add a classifier …"
          ids={form.classifierIds}
          options={classifiers.value.map(({ classifierId, name }) => [classifierId, name] as const)}
          onChange={(classifierIds) => set({ classifierIds })}
        />
      )}
      <Chips
        label="Origins"
        hint="Origins of web pages that may use the key, such as https://shop.example. Empty: only programs may use it."
        values={form.origins}
        placeholder="https://shop.example"
        onChange={(origins) => set({ origins })}
      />
      <Pinned form={form} set={set} />
      <SignedInUsers user={form.user} onChange={(user) => set({ user })} />
      <div class="columns-3">
        <Field
          label="Requests per minute"
          value={form.ratePerMinute}
          onInput={(ratePerMinute) => set({ ratePerMinute })}
          placeholder="no limit"
        />
        <Field
          label="Rows per response"
          value={form.maxRows}
          onInput={(maxRows) => set({ maxRows })}
          placeholder="no limit"
        />
        <Field label="Valid for days" value={form.days} onInput={(days) => set({ days })} placeholder={end} />
      </div>
      {hasWrongNumber(form) && (
        <p class="banner">Write numbers with digits only, such as 1000, and at most {daysMax} days.</p>
      )}
    </>
  );
}

function Pinned({ form, set }: PartProps) {
  const names = new Set(form.queryIds.flatMap((id) => editorOf(id).fields.value.map(({ key }) => key)));
  return (
    <fieldset class="pinned">
      <legend>Pinned variables</legend>
      <p class="hint">
        Values that users of the key cannot change, such as the tenant
        {names.size > 0 && ` (${[...names].join(', ')})`}.
        {form.pinned.some(([, value]) => value === withheldValue) &&
          ` ${withheldValue} stands for a secret value, which stays.`}
      </p>
      <Pairs
        pairs={form.pinned}
        labels={['Variable', 'Value']}
        placeholders={['tenant', '42']}
        add="Pin a variable"
        onChange={(pinned) => set({ pinned })}
      />
    </fieldset>
  );
}

/** Queries by name are chips, too. The list adds ids, which stand beside names. */
function ChosenQueries({ form: { hubIds, queryIds, queries }, set }: PartProps) {
  const shown = hubIds.length > 0 ? hubIds : [hubId.value ?? ''];
  const others = shown.filter((id) => id !== hubId.value);
  const trees = useLoad(
    (signal) =>
      Promise.all(others.map((id) => callJson<TreeNode>(`v1/hubs/${part(id)}/contents`, { signal }))),
    [others.join()],
  );
  const known = [...(shown.includes(hubId.value ?? '') ? [tree.value] : []), ...(trees.value ?? [])];
  const options = known.flatMap((one) =>
    nodesIn(one, 'query').map(({ nodeId, label }) => {
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
        ids={queries.length > 0 ? queries : queryIds}
        options={options}
        onChange={(ids) => set(queries.length > 0 ? { queries: ids } : { queryIds: ids })}
      />
      {trees.problem !== undefined && <p class="fault">The queries of another hub could not be read.</p>}
    </div>
  );
}
