/** Fills the form of a source from a pasted address such as `postgres://user:password@host:5432/database`. */

import type { EngineName } from '@datahub/contract/engines';
import { defaultPorts, type SourceForm } from './settings.ts';

const engines: Record<string, EngineName> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mariadb',
};
/** `sslmode` of libpq, `ssl-mode` of MySQL. */
const tlsModes: Record<string, string> = {
  disable: 'disable',
  disabled: 'disable',
  prefer: 'prefer',
  preferred: 'prefer',
  allow: 'prefer',
  require: 'require',
  required: 'require',
  'verify-ca': 'verify-full',
  verify_ca: 'verify-full',
  'verify-full': 'verify-full',
  verify_identity: 'verify-full',
};

/** Undefined if the text is no such address. What the address does not have stays. */
export function formOfAddress(text: string, form: SourceForm): SourceForm | undefined {
  const url = URL.parse(text.trim());
  const engine = engines[url?.protocol ?? ''];
  if (url === null || engine === undefined || url.hostname === '') return undefined;
  const mode = url.searchParams.get('sslmode') ?? url.searchParams.get('ssl-mode') ?? '';
  return {
    ...form,
    engine,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port || defaultPorts[engine],
    database: decoded(url.pathname.slice(1)) || form.database,
    user: decoded(url.username) || form.user,
    password: decoded(url.password) || form.password,
    tlsMode: tlsModes[mode.toLowerCase()] ?? form.tlsMode,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
