/** The faults of the form of a source, by field. */

import type { Problem } from '../../api/types.ts';
import type { SourceForm } from './settings.ts';

export type FormFaults = Partial<Record<keyof SourceForm, string>>;

const portMax = 65_535;

/** Faults that the page sees before it asks the hub. */
export function faultsOfForm({
  host,
  port,
  database,
  srv,
  poolMax,
  statementTimeoutMs,
  ...ssh
}: SourceForm): FormFaults {
  const isWhole = (text: string) => /^\d+$/.test(text.trim());
  const isPort = (text: string) => isWhole(text) && Number(text) >= 1 && Number(text) <= portMax;
  return {
    ...(host.trim() === '' ? { host: 'Write the name or the address of the server.' } : {}),
    ...(isPort(port) || srv ? {} : { port: `Write a number from 1 to ${portMax}.` }),
    ...(database.trim() === '' ? { database: 'Write the name of the database.' } : {}),
    ...(poolMax.trim() === '' || isWhole(poolMax) ? {} : { poolMax: 'Write a whole number.' }),
    ...(statementTimeoutMs.trim() === '' || isWhole(statementTimeoutMs)
      ? {}
      : { statementTimeoutMs: 'Write a whole number.' }),
    ...(ssh.sshHost.trim() === '' || isPort(ssh.sshPort)
      ? {}
      : { sshPort: `Write a number from 1 to ${portMax}.` }),
  };
}

/** Where a person looks first after such an error. */
const fieldsOfCodes: Partial<Record<string, [keyof SourceForm, string]>> = {
  SOURCE_UNREACHABLE: ['host', 'The hub could not connect to this server.'],
  SOURCE_AUTH: ['user', 'The database refused this user, this password or this database.'],
  SOURCE_TLS: ['tlsMode', 'TLS failed in this mode.'],
};

const fieldsOfPointers: Partial<Record<string, keyof SourceForm>> = {
  '/label': 'label',
  '/engine': 'engine',
  '/connectionSettings/tls/mode': 'tlsMode',
  '/connectionSettings/tls/ca': 'ca',
  '/connectionSettings/tls/cert': 'cert',
  '/connectionSettings/tls/key': 'clientKey',
  '/connectionSettings/pool/max': 'poolMax',
  '/connectionSettings/ssh': 'sshPrivateKey',
  '/connectionSettings/ssh/host': 'sshHost',
  '/connectionSettings/ssh/port': 'sshPort',
  '/connectionSettings/ssh/user': 'sshUser',
  '/connectionSettings/ssh/hostKey': 'sshHostKey',
  '/connectionSettings/ssh/privateKey': 'sshPrivateKey',
  '/connectionSettings/ssh/password': 'sshPassword',
};

const fieldOf = (pointer: string, form: SourceForm): keyof SourceForm | undefined => {
  const known = fieldsOfPointers[pointer];
  if (known !== undefined) return known;
  const [, name = ''] = /^\/connectionSettings\/(\w+)/.exec(pointer) ?? [];
  return Object.hasOwn(form, name) ? (name as keyof SourceForm) : undefined;
};

/** Faults that the hub has found. */
export function faultsOfProblem(problem: Problem | undefined, form: SourceForm): FormFaults {
  const known = fieldsOfCodes[problem?.code ?? ''];
  if (known !== undefined) return { [known[0]]: known[1] };
  const faults: FormFaults = {};
  for (const error of problem?.errors ?? []) {
    const field = fieldOf(error.pointer, form);
    if (field === undefined || faults[field] !== undefined) continue;
    faults[field] = `It ${error.detail}.`;
  }
  return faults;
}

/** The faults of the fields that did not change: the others may be right now. */
export const unchanged = (faults: FormFaults, before: SourceForm, after: SourceForm): FormFaults =>
  Object.fromEntries(
    Object.entries(faults).filter(([name]) => {
      const field = name as keyof SourceForm;
      return before[field] === after[field];
    }),
  );
