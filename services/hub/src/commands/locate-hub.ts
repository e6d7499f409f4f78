/**
 * Finds the hub of the data directory, and runs the operator's requests over its socket or in its store. Every command
 * loads this file, and few need the catalog, so that is loaded in the functions that use it.
 */

import type { CatalogConfig } from '@datahub/catalog/config';
import type { OperatorRequest } from '@datahub/catalog/rpc/operator';
import type { Environment } from '@datahub/cli/access';
import { findAccess, type Known } from '@datahub/cli/access';
import { CommandError, exitCodes } from '@datahub/cli/failure';
import { createIdFactory } from '@datahub/service-kit/id';
import { sendOperatorCommand } from '@datahub/service-kit/process/operator-socket';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { type Access, findKey, findUrl } from '../access.ts';

const dataDirOf = (env: Environment): string =>
  readSettings(env, (reader) => reader.text('DATAHUB_DATA_DIR'));

const ownHosts = new Set(['127.0.0.1', 'localhost', '[::1]']);
const isElsewhere = (url: string) => !ownHosts.has(URL.parse(url)?.hostname ?? '');

/** The hub that runs over the data directory, with the key in it. Only a hub on this machine gets that key. */
export async function findLocalHub(env: Environment): Promise<Known> {
  const dataDir = dataDirOf(env);
  const url = await findUrl(env, dataDir);
  if (env.DATAHUB_URL && isElsewhere(url)) return { url };
  const { key, keyPlace } = await findKey(env, dataDir);
  return { url, ...(key === undefined ? {} : { key }), keyPlace };
}

export interface LocatedHub {
  config: CatalogConfig;
  access: Access;
}

export async function locateHub(env: Environment): Promise<LocatedHub> {
  const dataDir = dataDirOf(env);
  const { readCatalogConfig } = await import('@datahub/catalog/config');
  const config = readSettings(env, readCatalogConfig);
  const { url, key, keyPlace = '' } = await findAccess(env, findLocalHub);
  const { keyInShell } = await findKey(env, dataDir);
  const runs = await isHubAt(url);
  const access = { url, runs, isElsewhere: isElsewhere(url), dataDir, key, keyPlace, keyInShell };
  return { config, access };
}

/** A closed port refuses at once, so only a hub on a busy machine takes long. */
const answerTimeoutMs = 10_000;

async function isHubAt(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(answerTimeoutMs) }).then(
    (response) => response.ok,
    () => false,
  );
}

export async function runLocally(
  request: OperatorRequest,
  { config, access: { url, runs, isElsewhere } }: LocatedHub,
): Promise<unknown> {
  const { operatorSocket } = config;
  if (operatorSocket === undefined) return runInStore(request, config);
  const answer = await sendOperatorCommand(operatorSocket, request);
  if (answer === undefined && runs) {
    throw new CommandError(
      `A hub runs at ${url}, but not with the store here. Run this where its data directory is, or stop the hub.`,
    );
  }
  if (answer === undefined && isElsewhere)
    throw new CommandError(
      `The hub at ${url} does not answer, and the store here is not its own. Unset DATAHUB_URL to use the store here.`,
      exitCodes.unavailable,
    );
  return answer ?? runInStore(request, config);
}

async function runInStore(request: OperatorRequest, config: CatalogConfig): Promise<unknown> {
  const { requireFile } = await import('./store-files.ts');
  // A key can be made before the first start.
  if (request.action !== 'create') requireFile(config);
  const { openCatalogStore } = await import('@datahub/catalog/store');
  const { operate } = await import('@datahub/catalog/rpc/operator');
  const store = await openCatalogStore(config.storeUrl);
  try {
    const { namespace } = config;
    const createId = createIdFactory({ namespace });
    return await operate({ store, createId, nowMs: Date.now, namespace }, request);
  } finally {
    await store.close();
  }
}
