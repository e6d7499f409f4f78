/** The fields for a database's address and log-in. */

import { isEngine } from '@datahub/contract/engines';
import {
  authMechanisms,
  hasServerSetting,
  poolings,
  readPreferences,
  type ServerSetting,
  targetSessionAttrs,
} from '@datahub/contract/source-settings';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { engineNames } from '../../ui/format.ts';
import { formOfAddress } from './address.ts';
import { type BoundForm, bindTexts } from './bound-form.ts';
import { defaultPorts, fieldNames, type SourceForm } from './settings.ts';

interface SourceFieldsProps extends BoundForm {
  existing?: boolean;
  children?: ComponentChildren;
}

const tlsModes = [
  ['prefer', 'Prefer: TLS if the server supports it'],
  ['require', 'Require: TLS, certificate not checked'],
  ['verify-full', 'Verify: TLS with a checked certificate'],
  ['disable', 'Disable: clear text'],
] as const;

/** Shows the first field that has a fault. */
export function focusFirstFault(form: HTMLFormElement): void {
  // Once the faults are drawn.
  requestAnimationFrame(() => {
    const field = form.querySelector<HTMLElement>('[aria-invalid=true]');
    const folded = field?.closest('details');
    if (folded != null) folded.open = true;
    field?.focus();
  });
}

export function SourceFields({ form, faults, onChange, existing = false, children }: SourceFieldsProps) {
  const bound = { form, faults, onChange };
  const { field } = bindTexts(bound);
  return (
    <>
      {!existing && <Address form={form} onChange={onChange} />}
      <div class="columns-2">
        <Field {...field('label')} placeholder="orders" hint={existing ? undefined : nameHint} />
        <Choice
          label={fieldNames.engine}
          value={form.engine}
          fault={faults.engine}
          options={Object.entries(engineNames)}
          onChange={(engine) => onChange(withEngine(form, engine))}
        />
      </div>
      <Servers {...bound} />
      <fieldset class="group">
        <legend>Log-in</legend>
        <div class="columns-2">
          <Field {...field('user')} />
          <Field type="password" {...field('password')} />
        </div>
        <p class="hint">
          {existing
            ? 'The mask keeps the stored value.'
            : 'A user with only the permissions that the queries need. The hub encrypts the password before it stores it, and no answer contains it.'}
        </p>
      </fieldset>
      <Security {...bound} />
      <Bastion {...bound} />
      <details class="more">
        <summary>More settings</summary>
        <div class="columns-2">
          <Field {...field('poolMax')} placeholder="default of the hub" />
          <Field {...field('statementTimeoutMs')} placeholder="default of the hub" />
        </div>
        <ServerFields {...bound} />
      </details>
      {children}
    </>
  );
}

/** A port that is the usual one of an engine becomes that of the new engine. */
function withEngine(form: SourceForm, engine: string): SourceForm {
  const isDefault = Object.values(defaultPorts).includes(form.port) || form.port === '';
  return { ...form, engine, port: isDefault && isEngine(engine) ? defaultPorts[engine] : form.port };
}

const nameHint = 'How people find it. Without one it has the name of the database.';

/** An address as most services show it. It is taken apart at once and not kept, because it may have a password. */
function Address({ form, onChange }: Pick<SourceFieldsProps, 'form' | 'onChange'>) {
  const [text, setText] = useState('');
  const [filled, setFilled] = useState<string>();
  const read = (typed: string) => {
    const read = formOfAddress(typed, form);
    if (read === undefined) {
      setText(typed);
      return;
    }
    setText('');
    setFilled(`Filled from the address of ${read.host}.`);
    onChange(read);
  };
  const isWrong = text.trim() !== '';
  return (
    <div class="address">
      <Field
        label="Paste an address"
        value={text}
        onInput={read}
        mono
        autofocus
        placeholder="postgres://user:password@db.example.com:5432/orders"
        fault={
          isWrong ? 'An address begins with postgres://, mysql://, mariadb:// or mongodb://.' : undefined
        }
        hint="It fills the form. Or write the fields yourself."
      />
      <p class="hint good-text" role="status">
        {!isWrong && filled}
      </p>
    </div>
  );
}

function Servers(bound: BoundForm) {
  const { form, onChange } = bound;
  const { field } = bindTexts(bound);
  const setHost = (text: string) => onChange(formOfAddress(text, form) ?? { ...form, host: text });
  return (
    <fieldset class="group">
      <legend>Server</legend>
      <div class="columns-host">
        <Field
          {...field('host')}
          onInput={setHost}
          placeholder="db.example.com"
          hint="As seen from the hub, not from your browser."
        />
        <Field {...field('port')} />
      </div>
      <SrvTick form={form} onChange={onChange} />
      <Field {...field('database')} />
    </fieldset>
  );
}

function Security(bound: BoundForm) {
  const { form } = bound;
  const { field, choice } = bindTexts(bound);
  const hasCertificates = [form.ca, form.cert, form.clientKey].some((text) => text !== '');
  return (
    <fieldset class="group">
      <legend>Encryption</legend>
      <Choice {...choice('tlsMode')} options={tlsModes} />
      {form.tlsMode !== 'disable' && (
        <details class="more" open={hasCertificates}>
          <summary>Certificates</summary>
          <Field {...field('ca')} rows={2} />
          <div class="columns-2">
            <Field {...field('cert')} rows={2} />
            <Field {...field('clientKey')} rows={2} />
          </div>
        </details>
      )}
    </fieldset>
  );
}

function Bastion(bound: BoundForm) {
  const { form, onChange } = bound;
  const { field } = bindTexts(bound);
  const [isOpen, setOpen] = useState(false);
  const isShown = isOpen || form.sshHost !== '';
  const show = (shown: boolean) => {
    setOpen(shown);
    if (!shown) onChange({ ...form, sshHost: '' });
  };
  return (
    <fieldset class="group">
      <legend>Way to the server</legend>
      <Tick label="Through an SSH bastion" checked={isShown} onChange={show} />
      {isShown && (
        <>
          <div class="columns-host">
            <Field
              {...field('sshHost')}
              placeholder="bastion.example.com"
              hint="The host of the database is then as seen from the bastion."
            />
            <Field {...field('sshPort')} />
          </div>
          <Field {...field('sshUser')} />
          <Field
            {...field('sshHostKey')}
            placeholder="ssh-ed25519 AAAA… or SHA256:…"
            hint="The public key of the bastion, or its fingerprint. The hub sends nothing to a server with another key."
          />
          <div class="columns-2">
            <Field {...field('sshPrivateKey')} rows={2} hint="Without a passphrase. Or a password:" />
            <Field type="password" {...field('sshPassword')} />
          </div>
        </>
      )}
    </fieldset>
  );
}

/** Returns choices whose first value is the default, which is not stored. */
const withDefault = (values: readonly string[]): [string, string][] =>
  values.map((value, i) => (i === 0 ? ['', `${value} (default)`] : [value, value]));

function ServerFields(bound: BoundForm) {
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
          {...field('hosts')}
          rows={2}
          placeholder={`db2.example.com:${isEngine(form.engine) ? defaultPorts[form.engine] : ''}`}
          hint="One per line. The default port is that of the first server."
        />
      )}
      {has('targetSessionAttrs') && <Choice {...choice('targetSessionAttrs', targetSessionAttrs)} />}
      {has('pooling') && (
        <Choice
          {...choice('pooling', poolings)}
          hint="transaction: for a pooler such as PgBouncer in transaction mode."
        />
      )}
      {has('replicaSet') && (
        <div class="columns-2">
          <Field {...field('replicaSet')} placeholder="rs0" />
          <Choice {...choice('readPreference', readPreferences)} />
        </div>
      )}
      {has('authMechanism') && (
        <div class="columns-2">
          <Field {...field('authSource')} placeholder="admin" />
          <Choice
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

function SrvTick({ form, onChange }: Pick<BoundForm, 'form' | 'onChange'>) {
  if (!hasServerSetting(form.engine, 'srv')) return null;
  return (
    <Tick
      label={`${fieldNames.srv}: DNS lists the servers, and the port is ignored`}
      checked={form.srv}
      onChange={(srv) => onChange({ ...form, srv, ...(srv ? { hosts: '' } : {}) })}
    />
  );
}
