/** The part of the form of a key that limits what its scopes allow. */

import { workOf } from '../../state/query-work.ts';
import { category, findNode, hubs, walk } from '../../state/workspace.ts';
import { Chips } from '../../ui/chips.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { hasWrongNumber, type KeyForm } from './key-form.ts';
import { Pairs } from './pairs.tsx';
import { SignedInUsers } from './signed-in-users.tsx';

export interface PartProps {
  form: KeyForm;
  set(change: Partial<KeyForm>): void;
}

interface KeyLimitsProps extends PartProps {
  /** When a key without days ends. */
  end: string;
}

export function KeyLimits({ form, set, end }: KeyLimitsProps) {
  const [hubChoice] = form.hubIds;
  return (
    <>
      <div class="columns-2">
        <Choice
          label="Hub"
          value={hubChoice ?? ''}
          options={[
            ['', 'Every hub'],
            ...(hubs.value ?? []).map(({ hubId: id, label }) => [id, label] as const),
          ]}
          onChange={(id) => set({ hubIds: id === '' ? [] : [id] })}
        />
        <Queries form={form} set={set} />
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

/** The chosen queries, and a list that adds one. */
function Queries({ form: { queryIds }, set }: PartProps) {
  const queries = [...walk(category('queries'))].filter(({ node }) => node.nodeType === 'query');
  const others = queries.filter(({ node }) => !queryIds.includes(node.nodeId));
  return (
    <div>
      <Choice
        label="Query"
        value=""
        options={[
          ['', queryIds.length === 0 ? 'Every query of the hub' : 'Add a query …'],
          ...others.map(({ node }) => [node.nodeId, node.label] as const),
        ]}
        onChange={(id) => id !== '' && set({ queryIds: [...queryIds, id] })}
      />
      {queryIds.map((id) => {
        const label = findNode(id)?.node.label ?? id;
        return (
          <span class="chip" key={id}>
            {label}
            <button
              type="button"
              aria-label={`Remove ${label}`}
              onClick={() => set({ queryIds: queryIds.filter((one) => one !== id) })}
            >
              <Icon name="close" />
            </button>
          </span>
        );
      })}
    </div>
  );
}

function Pinned({ form, set }: PartProps) {
  const names = new Set(form.queryIds.flatMap((id) => workOf(id).fields.value.map(({ key }) => key)));
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
