/** The fields for a source's servers: how the hub selects one, how it logs in, and how a pooler shares connections. */

import { isEngine } from '@datahub/contract/engines';
import {
  authMechanisms,
  hasServerSetting,
  poolings,
  readPreferences,
  type ServerSetting,
  targetSessionAttrs,
} from '@datahub/contract/source-settings';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { type BoundForm, bindTexts } from './bound-form.ts';
import { defaultPorts } from './settings.ts';

/** Returns choices whose first value is the default, which is not stored. */
const withDefault = (values: readonly string[]): [string, string][] =>
  values.map((value, i) => (i === 0 ? ['', `${value} (default)`] : [value, value]));

export function ServerFields(bound: BoundForm) {
  const { form } = bound;
  const { field, choice: bindChoice } = bindTexts(bound);
  const has = (name: ServerSetting) => hasServerSetting(form.engine, name);
  const choice = (name: 'pooling' | 'targetSessionAttrs' | 'readPreference', values: readonly string[]) => ({
    ...bindChoice(name),
    value: form[name] === values[0] ? '' : form[name],
    options: withDefault(values),
  });
  return (
    <>
      {has('hosts') && !form.srv && (
        <Field
          label="Further servers of the same database"
          {...field('hosts')}
          rows={2}
          placeholder={`db2.example.com:${isEngine(form.engine) ? defaultPorts[form.engine] : ''}`}
          hint="One per line. The default port is that of the first server."
        />
      )}
      {has('targetSessionAttrs') && (
        <Choice label="Server to connect to" {...choice('targetSessionAttrs', targetSessionAttrs)} />
      )}
      {has('pooling') && (
        <Choice
          label="Pooling"
          {...choice('pooling', poolings)}
          hint="transaction: for a pooler such as PgBouncer in transaction mode."
        />
      )}
      {has('replicaSet') && (
        <div class="columns-2">
          <Field label="Replica set" {...field('replicaSet')} placeholder="rs0" />
          <Choice label="Reads go to" {...choice('readPreference', readPreferences)} />
        </div>
      )}
      {has('authMechanism') && (
        <div class="columns-2">
          <Field label="Authentication database" {...field('authSource')} placeholder="admin" />
          <Choice
            label="Authentication mechanism"
            {...bindChoice('authMechanism')}
            options={[
              ['', 'Strongest SCRAM of the server'],
              ...authMechanisms.map((name) => [name, name] as const),
            ]}
          />
        </div>
      )}
    </>
  );
}

export function SrvTick({ form, onChange }: Pick<BoundForm, 'form' | 'onChange'>) {
  if (!hasServerSetting(form.engine, 'srv')) return null;
  return (
    <Tick
      label="The host is a mongodb+srv name: DNS lists the servers, and the port is ignored"
      checked={form.srv}
      onChange={(srv) => onChange({ ...form, srv, ...(srv ? { hosts: '' } : {}) })}
    />
  );
}
