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
import type { FormFaults } from './form-faults.ts';
import { defaultPorts, type SourceForm } from './settings.ts';

interface ServerFieldsProps {
  form: SourceForm;
  faults?: FormFaults;
  onChange(form: SourceForm): void;
}

/** Returns choices whose first value is the default, which is not stored. */
const withDefault = (values: readonly string[]): [string, string][] =>
  values.map((value, i) => (i === 0 ? ['', `${value} (default)`] : [value, value]));

export function ServerFields({ form, faults = {}, onChange }: ServerFieldsProps) {
  const has = (name: ServerSetting) => hasServerSetting(form.engine, name);
  const set = (name: keyof SourceForm) => (value: string) => onChange({ ...form, [name]: value });
  const choice = (name: 'pooling' | 'targetSessionAttrs' | 'readPreference', values: readonly string[]) => ({
    value: form[name] === values[0] ? '' : form[name],
    options: withDefault(values),
    onChange: set(name),
  });
  return (
    <>
      {has('hosts') && !form.srv && (
        <Field
          label="Further servers of the same database"
          value={form.hosts}
          fault={faults.hosts}
          onInput={set('hosts')}
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
          <Field
            label="Replica set"
            value={form.replicaSet}
            fault={faults.replicaSet}
            onInput={set('replicaSet')}
            placeholder="rs0"
          />
          <Choice label="Reads go to" {...choice('readPreference', readPreferences)} />
        </div>
      )}
      {has('authMechanism') && (
        <div class="columns-2">
          <Field
            label="Authentication database"
            value={form.authSource}
            onInput={set('authSource')}
            placeholder="admin"
          />
          <Choice
            label="Authentication mechanism"
            value={form.authMechanism}
            options={[
              ['', 'Strongest SCRAM of the server'],
              ...authMechanisms.map((name) => [name, name] as const),
            ]}
            onChange={set('authMechanism')}
          />
        </div>
      )}
    </>
  );
}

export function SrvTick({ form, onChange }: ServerFieldsProps) {
  if (!hasServerSetting(form.engine, 'srv')) return null;
  return (
    <Tick
      label="The host is a mongodb+srv name: DNS lists the servers, and the port is ignored"
      checked={form.srv}
      onChange={(srv) => onChange({ ...form, srv, ...(srv ? { hosts: '' } : {}) })}
    />
  );
}
