/**
 * `npm run datahub -- keys create --name N [--scopes a,b] [--new-account] | keys list | keys rotate ID | keys revoke ID`,
 * `npm run datahub -- backup DIRECTORY [--overwrite]` and `npm run datahub -- sealing-keys`; in the catalog's image
 * `node packages/hub/src/cli.ts` in place of `npm run datahub --`. What is done to keys goes through the hub while one runs (at
 * DATAHUB_URL, with DATAHUB_API_KEY or the key in the data directory). New accounts are the operator's alone: they go
 * through a socket in the data directory of a hub that runs over SQLite, or to the store itself.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CatalogConfig, readCatalogConfig } from '@datahub/catalog/config';
import { type OperatorRequest, operate } from '@datahub/catalog/maintenance/operator';
import { openCatalogStore } from '@datahub/catalog/store';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createIdFactory } from '@datahub/service-kit/id';
import { sendOperatorCommand } from '@datahub/service-kit/process/operator-socket';
import { readSettings } from '@datahub/service-kit/process/settings';

const usage = `usage: npm run datahub -- keys create --name NAME [--scopes a,b] [--new-account]
       npm run datahub -- keys list
       npm run datahub -- keys rotate KEY_ID
       npm run datahub -- keys revoke KEY_ID
       npm run datahub -- backup DIRECTORY [--overwrite]
       npm run datahub -- sealing-keys`;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function parse() {
  const options = {
    name: { type: 'string' },
    scopes: { type: 'string' },
    'new-account': { type: 'boolean', default: false },
    overwrite: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (err) {
    fail(`${(err as Error).message}\n${usage}`);
  }
}

interface BackupAsked {
  directory: string;
  overwrite: boolean;
}

function read(): OperatorRequest | BackupAsked | 'sealing-keys' {
  const { values, positionals } = parse();
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const [noun, action = '', keyId = ''] = positionals;
  if (noun === 'sealing-keys') return 'sealing-keys';
  if (noun === 'backup') {
    if (positionals.length !== 2 || action === '') fail(usage);
    return { directory: action, overwrite: values.overwrite };
  }
  const needsId = action === 'rotate' || action === 'revoke';
  const known = needsId || action === 'list' || (action === 'create' && values.name !== undefined);
  if (noun !== 'keys' || !known || (needsId && keyId === '')) fail(usage);
  return {
    action: action as OperatorRequest['action'],
    keyId,
    name: values.name ?? '',
    scopes: values.scopes?.split(',').map((scope) => scope.trim()) ?? ['*'],
    newAccount: values['new-account'],
  };
}

async function isHubAt(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

async function keyIn(dataDir: string): Promise<string | undefined> {
  const kept = await readFile(join(dataDir, 'api-key'), 'utf8').catch(() => undefined);
  return process.env.DATAHUB_API_KEY?.trim() || kept?.trim();
}

async function throughHub(
  asked: OperatorRequest,
  { url, key }: { url: string; key: string },
): Promise<unknown> {
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/v1/keys${path}`, {
      method,
      headers: {
        'x-service-api-key': key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { detail?: string };
    if (!response.ok) fail(`The hub refused: ${answer.detail}`);
    return answer;
  };
  const { action, keyId, name, scopes } = asked;
  if (action === 'create') return call('POST', '', { name, ...(scopes.length > 0 ? { scopes } : {}) });
  if (action === 'rotate') return call('POST', `/${keyId}/rotate`, {});
  return action === 'revoke' ? call('DELETE', `/${keyId}`) : call('GET', '');
}

async function inStore(asked: OperatorRequest, config: CatalogConfig): Promise<unknown> {
  const store = await openCatalogStore(config.storeUrl);
  try {
    const { namespace } = config;
    const createId = createIdFactory({ namespace });
    return await operate({ store, createId, nowMs: Date.now, namespace }, asked);
  } finally {
    await store.close();
  }
}

/**
 * Through the hub's API where one runs and there is a key; else, and for what no key may do, by the operator's own way:
 * the running hub's socket, or the store itself.
 */
async function answer(asked: OperatorRequest): Promise<unknown> {
  const { config, dataDir } = readSettings(process.env, (reader) => ({
    config: readCatalogConfig(reader),
    dataDir: reader.text('DATAHUB_DATA_DIR', 'data'),
  }));
  const url = process.env.DATAHUB_URL ?? `http://127.0.0.1:${process.env.PORT ?? 8080}`;
  const runs = await isHubAt(url);
  const key = await keyIn(dataDir);
  if (runs && key !== undefined && !asked.newAccount) return throughHub(asked, { url, key });
  const { operatorSocket } = config;
  if (operatorSocket === undefined) return inStore(asked, config);
  const told = await sendOperatorCommand(operatorSocket, asked);
  if (told === undefined && runs) {
    fail(
      `A hub runs at ${url}, and not over the store here: run this where its data directory is, or stop it.`,
    );
  }
  return told ?? inStore(asked, config);
}

/** Breaking it off leaves nothing half behind. */
async function backUp(asked: BackupAsked): Promise<unknown> {
  // It copies what ml keeps as well, of which the catalog's image, where this program is, has nothing.
  const { takeBackup } = await import('./backup.ts');
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());
  return takeBackup(process.env, { ...asked, say, signal: stopping.signal });
}

const say = (line: string) => process.stderr.write(`${line}\n`);

const asked = read();
if (asked === 'sealing-keys') {
  const { publicKey, privateKey } = await generateKeyPair();
  process.stdout.write(
    `DATAHUB_SEALING_PUBLIC_KEYS=${publicKey}\nDATAHUB_SEALING_PRIVATE_KEYS=${privateKey}\n`,
  );
} else {
  const telling = 'directory' in asked ? backUp(asked) : answer(asked);
  const told = await telling.catch((err: Error) => fail(err.message));
  process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
}
