/** The part of the form of a key that limits what its scopes allow. */

import { hasWrongNumber, type PartProps } from '../../state/key-form.ts';
import { editorOf } from '../../state/stored-query-editor.ts';
import { hubs } from '../../state/workspace.ts';
import { Chips } from '../../ui/chips.tsx';
import { Field } from '../../ui/field.tsx';
import { Chosen } from './chosen.tsx';
import { ChosenQueries } from './chosen-queries.tsx';
import { Pairs } from './pairs.tsx';
import { SignedInUsers } from './signed-in-users.tsx';

interface KeyLimitsProps extends PartProps {
  /** When a key without days ends. */
  end: string;
}

export function KeyLimits({ form, set, end }: KeyLimitsProps) {
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
      {hasWrongNumber(form) && <p class="banner">Write numbers with digits only, such as 1000.</p>}
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
