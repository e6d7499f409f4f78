/** How to reach the hub of a data directory: its URL and its key. Shown by `npm start` and `npm run datahub -- whoami`. */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyDescription } from '@datahub/catalog/rpc/operator';
import type { Environment } from '@datahub/service-kit/settings/settings';

export interface KeyAccess {
  key: string | undefined;
  /** Where the key is: a file, or the setting DATAHUB_API_KEY. */
  keyPlace: string;
  /** An expression of the shell for the key, so that the key itself is not printed. */
  keyInShell: string;
}

export interface Access extends KeyAccess {
  url: string;
  /** Whether a hub answers there. */
  runs: boolean;
  /** Whether it is on another machine, so that the store here is not its own even if it does not answer. */
  isElsewhere: boolean;
  dataDir: string;
}

export async function findKey(env: Environment, dataDir: string): Promise<KeyAccess> {
  const given = env.DATAHUB_API_KEY?.trim();
  if (given) return { key: given, keyPlace: 'DATAHUB_API_KEY', keyInShell: '$DATAHUB_API_KEY' };
  const keyPlace = join(dataDir, 'api-key');
  const stored = await readFile(keyPlace, 'utf8').catch(() => undefined);
  return { key: stored?.trim() || undefined, keyPlace, keyInShell: `$(cat '${keyPlace}')` };
}

const urlFile = (dataDir: string) => join(dataDir, 'url');

/** Commands in another terminal do not have the PORT of the hub. Written at each start, removed at each stop. */
export async function storeUrl(dataDir: string, url: string): Promise<{ close(): Promise<void> }> {
  const path = urlFile(dataDir);
  // A full disk stops no start of a hub.
  await writeFile(path, `${url}\n`, { mode: 0o600 }).catch(() => {});
  return { close: () => rm(path, { force: true }) };
}

/** `DATAHUB_URL`, else the URL of the hub that runs over this data directory, else the default one. */
export async function findUrl(env: Environment, dataDir: string): Promise<string> {
  if (env.DATAHUB_URL) return env.DATAHUB_URL;
  const stored = await readFile(urlFile(dataDir), 'utf8').catch(() => '');
  return stored.trim() || `http://127.0.0.1:${env.PORT || 8080}`;
}

/** A command that lists the hubs. */
export function exampleCurl(url: string, keyInShell: string): string {
  return `curl -s ${url}/v1/hubs -H "x-service-api-key: ${keyInShell}"`;
}

/** Contains the key only if `showKey` is set: terminals and logs are stored. */
export function describeAccess(
  { url, runs, key, keyPlace, keyInShell }: Access,
  { described, showKey }: { described: KeyDescription; showKey: boolean },
): string {
  const { accountId, keyId, name, scopes, expiresAt } = described;
  const expiry = expiresAt === null ? '' : `, expires at ${new Date(expiresAt).toISOString()}`;
  const rows = [
    ['URL', runs ? url : `${url} (no hub answers there)`],
    ['key', `${keyId} (${name}${expiry}), in ${keyPlace}`],
    ...(showKey ? [['', String(key)]] : []),
    ['scopes', scopes.join(', ')],
    ['account', accountId],
    ['try', exampleCurl(url, keyInShell)],
  ];
  return rows.map(([title = '', text]) => `${title.padEnd(9)}${text}\n`).join('');
}

/** The URL on this machine of a hub that listens on `host`. */
export const urlOf = (host: string, port: number): string => `http://${hostFor(host)}:${port}`;

/** A wildcard address is reached at the loopback address. */
function hostFor(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
