/** Makes or changes a watch. For a new one of a query whose columns are known, the form is complete when it opens. */

import { useRef } from 'preact/hooks';
import { call, callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { category, findNode, hubId, nodesIn } from '../../state/workspace.ts';
import { useChangedForm } from '../../ui/changed-form.tsx';
import { Chips } from '../../ui/chips.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { counted } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Chosen } from '../key/chosen.tsx';
import { readDestinations } from './destinations.tsx';
import {
  bodyOf,
  faultsOf,
  fieldNames,
  formOf,
  isComparing,
  newForm,
  type WatchFields,
} from './watch-fields.ts';
import { addressOf, type Rule as RuleName, ruleWords, type Watch } from './words.ts';

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

/** The value of a field as the form shows it. */
function textOf(name: keyof WatchFields, value: unknown): string | undefined {
  if (name === 'queryId') return findNode(String(value))?.node.label;
  if (name === 'when') return ruleWords[value as RuleName];
  if (name === 'timing') return timings.find(([timing]) => timing === value)?.[1];
  return name === 'to' ? counted((value as string[]).length, 'destination') : undefined;
}

interface PartProps {
  form: WatchFields;
  set(change: Partial<WatchFields>): void;
}

export function WatchForm({ watch, queryId = '', onDone, onClose }: WatchFormProps) {
  const changed = useChangedForm<Watch, WatchFields>({
    path: addressOf(watch?.watchId ?? ''),
    first: watch === undefined ? newForm(queryId) : formOf(watch),
    formOf,
    names: fieldNames,
    textOf,
  });
  const { form, set } = changed;
  /** The query that the person chose: somebody else who changed the query also chose its columns. */
  const chosen = useRef(watch === undefined ? queryId : undefined);
  const { usualName, write } = useName(set);
  const choose = (next: string) => {
    chosen.current = next;
    set({ queryId: next });
  };
  const described = useLoad(
    async (signal) => {
      if (form.queryId === '') return undefined;
      const query = await callJson<Query>(`v1/queries/${part(form.queryId)}?signature=true`, { signal });
      const columns = query.signature?.columns?.map(({ name }) => name) ?? [];
      if (form.queryId === chosen.current && form.queryId !== watch?.queryId)
        set({ ...usualName(query), by: columns.slice(0, 1), include: columns });
      return query.signature;
    },
    [form.queryId],
  );
  const takesValues = (described.value?.variables ?? []).length > 0 || form.context !== '';
  const isValid = form.label !== '' && form.queryId !== '' && Object.keys(faultsOf(form)).length === 0;
  const save = async () => {
    if (watch === undefined)
      await call('v1/watches', { body: { hubId: hubId.value, ...bodyOf(form, undefined) } });
    else await changed.save((now) => bodyOf(form, now));
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
      onTheirs={changed.takeTheirs}
    >
      <div class="columns-2">
        <QueryChoice queryId={form.queryId} onChoose={choose} />
        <Field label={fieldNames.label} value={form.label} onInput={write} required />
      </div>
      {takesValues && (
        <Field
          label={fieldNames.context}
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

/** A watch has the name of its query, unless the person writes one. */
function useName(set: PartProps['set']) {
  const isWritten = useRef(false);
  return {
    usualName: ({ meta }: Query) => (isWritten.current ? {} : { label: meta.label }),
    write: (label: string) => {
      isWritten.current = label !== '';
      set({ label });
    },
  };
}

/** An object with the variables of the query. */
const exampleOf = (variables: readonly { key: string; list: boolean }[]): string =>
  JSON.stringify(Object.fromEntries(variables.map(({ key, list }) => [key, list ? ['…'] : '…'])));

interface QueryChoiceProps {
  queryId: string;
  onChoose(queryId: string): void;
}

function QueryChoice({ queryId, onChoose }: QueryChoiceProps) {
  const queries = nodesIn(category('queries'), 'query');
  return (
    <Choice
      label={fieldNames.queryId}
      value={queryId}
      options={[['', 'Choose …'], ...queries.map(({ nodeId, label }) => [nodeId, label] as const)]}
      onChange={onChoose}
    />
  );
}

function Rule({ form, set }: PartProps) {
  const faults = faultsOf(form);
  return (
    <>
      <Choice
        label={fieldNames.when}
        value={form.when}
        options={rules}
        onChange={(when) => set({ when: when as WatchFields['when'] })}
      />
      {form.when === 'condition' && (
        <div class="columns-2">
          <Field
            label={fieldNames.column}
            value={form.column}
            onInput={(column) => set({ column })}
            fault={faults.column}
          />
          <Choice
            label={fieldNames.is}
            value={form.is}
            options={comparisons}
            onChange={(is) => set({ is })}
          />
          <Field
            label={fieldNames.value}
            value={form.value}
            onInput={(value) => set({ value })}
            fault={faults.value}
            hint="A number, or a text."
          />
          <Field
            label={fieldNames.forRuns}
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
          label={fieldNames.timing}
          value={form.timing}
          options={timings}
          onChange={(timing) => set({ timing: timing as WatchFields['timing'] })}
        />
        {!isCron && (
          <Field
            label={fieldNames.minutes}
            value={form.minutes}
            onInput={(minutes) => set({ minutes })}
            fault={faults.minutes}
          />
        )}
        {isCron && (
          <Field
            label={fieldNames.timeZone}
            value={form.timeZone}
            onInput={(timeZone) => set({ timeZone })}
            fault={faults.timeZone}
            suggestions={zones()}
          />
        )}
      </div>
      {isCron && (
        <Field
          label={fieldNames.cron}
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
          label={fieldNames.spreadS}
          value={form.spreadS}
          onInput={(spreadS) => set({ spreadS })}
          fault={faults.spreadS}
          hint="So that not all watches start at the same moment."
        />
        <Tick label={fieldNames.makesUp} checked={form.makesUp} onChange={(makesUp) => set({ makesUp })} />
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
          label={fieldNames.by}
          hint="Such as the primary key. Without them the whole row does."
          values={form.by}
          onChange={(by) => set({ by })}
        />
      )}
      <Chips
        label={fieldNames.include}
        hint="Only their values leave the hub. Without them, an event has counts only."
        values={form.include}
        onChange={(include) => set({ include })}
      />
      <Chosen
        label={fieldNames.to}
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
