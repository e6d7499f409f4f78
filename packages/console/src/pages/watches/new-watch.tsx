/** Makes a watch of a query. For a query whose columns are known, the form is complete when it opens. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { category, hubId, queriesIn } from '../../state/workspace.ts';
import { Chips } from '../../ui/chips.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Chosen } from '../key/chosen.tsx';
import { readDestinations } from './destinations.tsx';
import { ruleWords } from './words.ts';

interface Form {
  label: string;
  queryId: string;
  minutes: string;
  when: string;
  by: string[];
  include: string[];
  to: string[];
}

interface NewWatchProps {
  /** Of the query that the person comes from. */
  queryId: string | undefined;
  onMade(): void;
  onClose(): void;
}

const rules = Object.entries(ruleWords).map(([when, words]) => [when, `Tell ${words}`] as const);

export function NewWatch({ queryId = '', onMade, onClose }: NewWatchProps) {
  const queries = queriesIn(category('queries'));
  const first: Form = { label: '', queryId, minutes: '5', when: 'new', by: [], include: [], to: [] };
  const [form, setForm] = useState(first);
  const set = (change: Partial<Form>) => setForm((before) => ({ ...before, ...change }));
  const described = useLoad(
    async (signal) => {
      if (form.queryId === '') return undefined;
      const query = await callJson<Query>(`v1/queries/${part(form.queryId)}?signature=true`, { signal });
      const columns = query.signature?.columns?.map(({ name }) => name) ?? [];
      set({ label: query.meta.label, by: columns.slice(0, 1), include: columns });
      return columns;
    },
    [form.queryId],
  );
  const compares = ['new', 'changed', 'gone'].includes(form.when);
  const everyS = Math.round(Number(form.minutes) * 60);
  const isValid = form.label !== '' && form.queryId !== '' && everyS >= 10;
  const create = async () => {
    const { label, when, by, include, to } = form;
    const about = { hubId: hubId.value, label, queryId: form.queryId, schedule: { everyS }, when, to };
    await call('v1/watches', { body: { ...about, include, by: compares ? by : [] } });
    onMade();
  };
  return (
    <FormDialog
      title="New watch"
      action="Create"
      disabled={!isValid}
      wide
      onClose={onClose}
      onSubmit={create}
    >
      <div class="columns-2">
        <Choice
          label="Query"
          value={form.queryId}
          options={[['', 'Choose …'], ...queries.map(({ nodeId, label }) => [nodeId, label] as const)]}
          onChange={(id) => set({ queryId: id })}
        />
        <Field label="Name" value={form.label} onInput={(label) => set({ label })} required />
        <Choice label="What it tells" value={form.when} options={rules} onChange={(when) => set({ when })} />
        <Field
          label="Every minutes"
          value={form.minutes}
          onInput={(minutes) => set({ minutes })}
          fault={everyS >= 10 ? undefined : 'Write a number of minutes, at least 0.17 (10 seconds).'}
        />
      </div>
      <Told form={form} set={set} compares={compares} />
      {described.problem !== undefined && <p class="hint">The columns of the query are not known yet.</p>}
    </FormDialog>
  );
}

interface ToldProps {
  form: Form;
  set(change: Partial<Form>): void;
  /** Whether rows are told apart. */
  compares: boolean;
}

/** What leaves the hub, and to whom. */
function Told({ form, set, compares }: ToldProps) {
  const destinations = useLoad(readDestinations, []);
  return (
    <>
      {compares && (
        <Chips
          label="Columns that tell rows apart"
          hint="Such as the primary key. Without them the whole row does."
          values={form.by}
          onChange={(by) => set({ by })}
        />
      )}
      <Chips
        label="Columns whose values are told"
        hint="Only their values leave the hub. Without them, an event has counts only."
        values={form.include}
        onChange={(include) => set({ include })}
      />
      <Chosen
        label="Who is told"
        everything="Nobody: events are at /v1/events"
        add="Add a destination …"
        ids={form.to}
        options={(destinations.value ?? []).map(
          ({ destinationId, label }) => [destinationId, label] as const,
        )}
        onChange={(to) => set({ to })}
      />
    </>
  );
}
