/** The fields for a database's address and log-in. */

import { isEngine } from '@datahub/contract/engines';
import type { ComponentChildren } from 'preact';
import { Choice, Field } from '../../ui/field.tsx';
import { engineNames } from '../../ui/format.ts';
import { formOfAddress } from './address.ts';
import { ServerFields, SrvTick } from './server-fields.tsx';
import { defaultPorts, type SourceForm } from './settings.ts';

interface SourceFieldsProps {
  form: SourceForm;
  onChange(form: SourceForm): void;
  existing?: boolean;
  children?: ComponentChildren;
}

const tlsModes = [
  ['prefer', 'Prefer: TLS if the server supports it'],
  ['require', 'Require: TLS, certificate not checked'],
  ['verify-full', 'Verify: TLS with a checked certificate'],
  ['disable', 'Disable: clear text'],
] as const;

export function SourceFields({ form, onChange, existing = false, children }: SourceFieldsProps) {
  const set = (name: keyof SourceForm) => (value: string) => onChange({ ...form, [name]: value });
  const setHost = (text: string) => onChange(formOfAddress(text, form) ?? { ...form, host: text });
  const setEngine = (engine: string) => {
    const isDefault = Object.values(defaultPorts).includes(form.port) || form.port === '';
    onChange({ ...form, engine, port: isDefault && isEngine(engine) ? defaultPorts[engine] : form.port });
  };
  return (
    <>
      <div class="columns-2">
        <Field
          label="Name"
          value={form.label}
          onInput={set('label')}
          placeholder="orders"
          autofocus={!existing}
        />
        <Choice
          label="Engine"
          value={form.engine}
          options={Object.entries(engineNames)}
          onChange={setEngine}
        />
      </div>
      <div class="columns-host">
        <Field
          label="Host"
          value={form.host}
          onInput={setHost}
          required
          placeholder="db.example.com"
          hint="As seen from the hub, not from your browser. A pasted postgres:// or mysql:// address fills the form."
        />
        <Field label="Port" value={form.port} onInput={set('port')} required />
      </div>
      <SrvTick form={form} onChange={onChange} />
      <Field label="Database" value={form.database} onInput={set('database')} required />
      <div class="columns-2">
        <Field
          label="User"
          value={form.user}
          onInput={set('user')}
          hint={
            existing
              ? 'The mask keeps the stored value.'
              : 'A user with only the permissions that the queries need.'
          }
        />
        <Field label="Password" type="password" value={form.password} onInput={set('password')} />
      </div>
      <Choice label="TLS" value={form.tlsMode} options={tlsModes} onChange={set('tlsMode')} />
      <MoreSettings form={form} set={set}>
        <ServerFields form={form} onChange={onChange} />
      </MoreSettings>
      {children}
    </>
  );
}

function MoreSettings({
  form,
  set,
  children,
}: {
  form: SourceForm;
  set(name: keyof SourceForm): (value: string) => void;
  children: ComponentChildren;
}) {
  return (
    <details class="more">
      <summary>More settings</summary>
      {form.tlsMode !== 'disable' && (
        <>
          <Field label="Certificate authority (PEM)" value={form.ca} onInput={set('ca')} rows={2} />
          <div class="columns-2">
            <Field label="Client certificate (PEM)" value={form.cert} onInput={set('cert')} rows={2} />
            <Field label="Client key (PEM)" value={form.clientKey} onInput={set('clientKey')} rows={2} />
          </div>
        </>
      )}
      <div class="columns-2">
        <Field
          label="Maximum connections"
          value={form.poolMax}
          onInput={set('poolMax')}
          placeholder="default of the hub"
        />
        <Field
          label="Statement time limit, ms"
          value={form.statementTimeoutMs}
          onInput={set('statementTimeoutMs')}
          placeholder="default of the hub"
        />
      </div>
      {children}
    </details>
  );
}
