/** Makes or changes a watch. For a new one of a query whose columns are known, the form is complete when it opens. */

import { useState } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { category, hubId, nodesIn } from '../../state/workspace.ts';
import { Chips } from '../../ui/chips.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Chosen } from '../key/chosen.tsx';
import { readDestinations } from './destinations.tsx';
import { bodyOf, faultsOf, formOf, isComparing, newForm, type WatchFields } from './watch-fields.ts';
import { addressOf, ruleWords, type Watch } from './words.ts';

interface WatchFormProps {
  /** The watch to change; absent for a new one. */
  watch?: Watch;
  /** Of the query that the person comes from. */
  queryId?: string | undefined;
  onDone(): void;
  onClose(): void;
}

const rules = Object.entries(ruleWords).map(([when, words]) => [when, `Tell ${words}`] as const);
const comparisons = ['>', '>=', '<', '<=', '=', '!='].map((sign) => [sign, sign] as const);
const timings = [
  ['every', 'Every so many minutes'],
  ['cron', 'At times of a calendar'],
] as const;

interface PartProps {
  form: WatchFields;
  set(change: Partial<WatchFields>): void;
}

export function WatchForm({ watch, queryId = '', onDone, onClose }: WatchFormProps) {
  const [form, setForm] = useState<WatchFields>(() =>
    watch === undefined ? newForm(queryId) : formOf(watch),
  );
  const set = (change: Partial<WatchFields>) => setForm((before) => ({ ...before, ...change }));
  const described = useLoad(
    async (signal) => {
      if (form.queryId === '') return undefined;
      const query = await callJson<Query>(`v1/queries/${part(form.queryId)}?signature=true`, { signal });
      const columns = query.signature?.columns?.map(({ name }) => name) ?? [];
      if (form.queryId !== watch?.queryId)
        set({ label: query.meta.label, by: columns.slice(0, 1), include: columns });
      return query.signature;
    },
    [form.queryId],
  );
  const takesValues = (described.value?.variables ?? []).length > 0 || form.context !== '';
  const isValid = form.label !== '' && form.queryId !== '' && Object.keys(faultsOf(form)).length === 0;
  const save = async () => {
    const body = bodyOf(form, watch);
    if (watch === undefined) await call('v1/watches', { body: { hubId: hubId.value, ...body } });
    else await call(addressOf(watch.watchId), { method: 'PUT', body });
    onDone();
  };
  return (
    <FormDialog
      title={watch === undefined ? 'New watch' : `Edit “${watch.label}”`}
      action={watch === undefined ? 'Create' : 'Save'}
      disabled={!isValid}
      wide
      onClose={onClose}
      onSubmit={save}
    >
      <div class="columns-2">
        <QueryChoice form={form} set={set} />
        <Field label="Name" value={form.label} onInput={(label) => set({ label })} required />
      </div>
      {takesValues && (
        <Field
          label="Values of the variables"
          value={form.context}
          onInput={(context) => set({ context })}
          fault={faultsOf(form).context}
          hint="A JSON object. A watch cannot keep the value of a secret variable."
          placeholder={exampleOf(described.value?.variables ?? [])}
          rows={2}
          mono
        />
      )}
      <Rule form={form} set={set} />
      <Schedule form={form} set={set} />
      <Told form={form} set={set} />
      {described.problem !== undefined && <p class="hint">The columns of the query are not known yet.</p>}
    </FormDialog>
  );
}

/** An object with the variables of the query. */
const exampleOf = (variables: readonly { key: string; list: boolean }[]): string =>
  JSON.stringify(Object.fromEntries(variables.map(({ key, list }) => [key, list ? ['…'] : '…'])));

function QueryChoice({ form, set }: PartProps) {
  const queries = nodesIn(category('queries'), 'query');
  return (
    <Choice
      label="Query"
      value={form.queryId}
      options={[['', 'Choose …'], ...queries.map(({ nodeId, label }) => [nodeId, label] as const)]}
      onChange={(queryId) => set({ queryId })}
    />
  );
}

function Rule({ form, set }: PartProps) {
  const faults = faultsOf(form);
  return (
    <>
      <Choice
        label="What it tells"
        value={form.when}
        options={rules}
        onChange={(when) => set({ when: when as WatchFields['when'] })}
      />
      {form.when === 'condition' && (
        <div class="columns-2">
          <Field
            label="Column"
            value={form.column}
            onInput={(column) => set({ column })}
            fault={faults.column}
          />
          <Choice label="Is" value={form.is} options={comparisons} onChange={(is) => set({ is })} />
          <Field
            label="Value"
            value={form.value}
            onInput={(value) => set({ value })}
            fault={faults.value}
            hint="A number, or a text."
          />
          <Field
            label="In so many runs in a row"
            value={form.forRuns}
            onInput={(forRuns) => set({ forRuns })}
            fault={faults.forRuns}
          />
        </div>
      )}
    </>
  );
}

/** The zones that the browser knows; older browsers list none. */
const zones = (): string[] => Intl.supportedValuesOf?.('timeZone') ?? [];

function Schedule({ form, set }: PartProps) {
  const faults = faultsOf(form);
  const isCron = form.timing === 'cron';
  return (
    <>
      <div class="columns-2">
        <Choice
          label="Runs"
          value={form.timing}
          options={timings}
          onChange={(timing) => set({ timing: timing as WatchFields['timing'] })}
        />
        {!isCron && (
          <Field
            label="Minutes between runs"
            value={form.minutes}
            onInput={(minutes) => set({ minutes })}
            fault={faults.minutes}
          />
        )}
        {isCron && (
          <Field
            label="Time zone"
            value={form.timeZone}
            onInput={(timeZone) => set({ timeZone })}
            fault={faults.timeZone}
            suggestions={zones()}
          />
        )}
      </div>
      {isCron && (
        <Field
          label="Cron pattern"
          value={form.cron}
          onInput={(cron) => set({ cron })}
          fault={faults.cron}
          hint="Minute, hour, day of month, month, day of week. 30 6 * * 1-5 is 06:30 from Monday to Friday."
          mono
        />
      )}
      <details class="more">
        <summary>More of the schedule</summary>
        <Field
          label="Spread over seconds"
          value={form.spreadS}
          onInput={(spreadS) => set({ spreadS })}
          fault={faults.spreadS}
          hint="So that not all watches start at the same moment."
        />
        <Tick
          label="If runs were missed, make up for them with one"
          checked={form.makesUp}
          onChange={(makesUp) => set({ makesUp })}
        />
      </details>
    </>
  );
}

/** What leaves the hub, and to whom. */
function Told({ form, set }: PartProps) {
  const destinations = useLoad(readDestinations, []);
  return (
    <>
      {isComparing(form.when) && (
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
