/**
 * The operator's command line, `npm run datahub --`, or `node packages/hub/src/cli.ts` in the catalog's image. Commands
 * for keys use the API of a running hub (at DATAHUB_URL, with DATAHUB_API_KEY or the key in the data directory). Only
 * an operator can create accounts: through the socket in the data directory of a hub over SQLite, or in the store
 * itself.
 */

import { parseArgs } from 'node:util';
import { type CatalogConfig, readCatalogConfig } from '@datahub/catalog/config';
import { type KeyDescription, type OperatorRequest, operate } from '@datahub/catalog/maintenance/operator';
import { openCatalogStore } from '@datahub/catalog/store';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { hashApiKey } from '@datahub/service-kit/api-key';
import { createIdFactory } from '@datahub/service-kit/id';
import { sendOperatorCommand } from '@datahub/service-kit/process/operator-socket';
import { readSettings } from '@datahub/service-kit/process/settings';
import { type Access, describeAccess, findKey, findUrl } from './access.ts';
import { knowsColumns, queriesOf, toTypeScript } from './types/hub-module.ts';
import { toPython } from './types/python-module.ts';
import { findHub, readDocument } from './types/read-document.ts';

const usage = `usage: npm run datahub -- keys create --name NAME [--scopes a,b] [--new-account]
       npm run datahub -- keys list
       npm run datahub -- keys rotate KEY_ID
       npm run datahub -- keys revoke KEY_ID
       npm run datahub -- whoami [--show-key]
       npm run datahub -- backup DIRECTORY [--overwrite]
       npm run datahub -- sealing-keys
       npm run --silent datahub -- types HUB > hub.ts
       npm run --silent datahub -- types HUB --python > hub.py`;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function parse() {
  const options = {
    name: { type: 'string' },
    scopes: { type: 'string' },
    'new-account': { type: 'boolean', default: false },
    'show-key': { type: 'boolean', default: false },
    overwrite: { type: 'boolean', default: false },
    python: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (err) {
    fail(`${(err as Error).message}\n${usage}`);
  }
}

interface BackupCommand {
  directory: string;
  overwrite: boolean;
}

interface WhoamiCommand {
  showKey: boolean;
}

interface TypesCommand {
  /** An id or a label. */
  hub: string;
  /** Otherwise the module is TypeScript. */
  python: boolean;
}

function readCommand(): OperatorRequest | BackupCommand | WhoamiCommand | TypesCommand | 'sealing-keys' {
  const { values, positionals } = parse();
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const [noun, action = '', keyId = ''] = positionals;
  if (noun === 'sealing-keys') return 'sealing-keys';
  if (noun === 'whoami') {
    if (positionals.length !== 1) fail(usage);
    return { showKey: values['show-key'] };
  }
  if (noun === 'types') {
    if (positionals.length !== 2 || action === '') fail(usage);
    return { hub: action, python: values.python };
  }
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

async function sendToHub(
  request: OperatorRequest,
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
    if (!response.ok) fail(`The hub rejected the command: ${answer.detail}`);
    return answer;
  };
  const { action, keyId, name, scopes } = request;
  if (action === 'create') return call('POST', '', { name, ...(scopes.length > 0 ? { scopes } : {}) });
  if (action === 'rotate') return call('POST', `/${keyId}/rotate`, {});
  return action === 'revoke' ? call('DELETE', `/${keyId}`) : call('GET', '');
}

async function runInStore(request: OperatorRequest, config: CatalogConfig): Promise<unknown> {
  const store = await openCatalogStore(config.storeUrl);
  try {
    const { namespace } = config;
    const createId = createIdFactory({ namespace });
    return await operate({ store, createId, nowMs: Date.now, namespace }, request);
  } finally {
    await store.close();
  }
}

/**
 * Uses the API if a hub runs and there is a key. Otherwise, and for commands that no key may run, uses the running
 * hub's socket or opens the store.
 */
async function execute(request: OperatorRequest): Promise<unknown> {
  const { config, access } = await locateHub();
  const { url, runs, key } = access;
  if (runs && key !== undefined && !request.newAccount) return sendToHub(request, { url, key });
  return executeLocally(request, { config, access });
}

interface LocatedHub {
  config: CatalogConfig;
  access: Access;
}

async function locateHub(): Promise<LocatedHub> {
  const { config, dataDir } = readSettings(process.env, (reader) => ({
    config: readCatalogConfig(reader),
    dataDir: reader.text('DATAHUB_DATA_DIR', 'data'),
  }));
  const url = await findUrl(process.env, dataDir);
  return {
    config,
    access: { url, runs: await isHubAt(url), dataDir, ...(await findKey(process.env, dataDir)) },
  };
}

async function executeLocally(
  request: OperatorRequest,
  { config, access: { url, runs } }: LocatedHub,
): Promise<unknown> {
  const { operatorSocket } = config;
  if (operatorSocket === undefined) return runInStore(request, config);
  const answer = await sendOperatorCommand(operatorSocket, request);
  if (answer === undefined && runs) {
    fail(
      `A hub runs at ${url}, but not with the store here. Run this where its data directory is, or stop the hub.`,
    );
  }
  return answer ?? runInStore(request, config);
}

async function whoAmI({ showKey }: WhoamiCommand): Promise<string> {
  const { config, access } = await locateHub();
  const { key } = access;
  if (key === undefined) {
    fail(
      `There is no key in ${access.keyPlace}. If this is the hub's data directory, create a key: npm run datahub -- keys create --name NAME`,
    );
  }
  const request: OperatorRequest = {
    action: 'describe',
    keyId: '',
    name: '',
    scopes: [],
    newAccount: false,
    keySha256: hashApiKey(key),
  };
  const described = (await executeLocally(request, { config, access })) as KeyDescription;
  return describeAccess(access, { described, showKey });
}

/** A cancelled backup leaves no partial files. */
async function backUp(command: BackupCommand): Promise<unknown> {
  // This is loaded only here, because it imports the ml service, which the catalog's image does not contain.
  const { takeBackup } = await import('./backup.ts');
  const cancelling = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => cancelling.abort());
  return takeBackup(process.env, { ...command, print, signal: cancelling.signal });
}

/** Returns the text of a module. Prints queries with unknown columns to standard error. */
async function writeTypes({ hub, python }: TypesCommand): Promise<string> {
  const { access } = await locateHub();
  const { url, key } = access;
  if (key === undefined) fail(`There is no key in ${access.keyPlace}. Set DATAHUB_API_KEY.`);
  const hubId = await findHub({ url, key }, hub);
  const pages = await readDocument({ url, key }, hubId);
  const unknown = queriesOf(pages).filter((query) => !knowsColumns(query));
  if (unknown.length > 0) {
    print(`The columns of these queries are unknown: ${unknown.map(({ label }) => label).join(', ')}`);
  }
  return (python ? toPython : toTypeScript)(hubId, pages);
}

const print = (line: string) => process.stderr.write(`${line}\n`);

const command = readCommand();
if (command === 'sealing-keys') {
  const { publicKey, privateKey } = await generateKeyPair();
  process.stdout.write(
    `DATAHUB_SEALING_PUBLIC_KEYS=${publicKey}\nDATAHUB_SEALING_PRIVATE_KEYS=${privateKey}\n`,
  );
} else if ('showKey' in command) {
  const text = await whoAmI(command).catch((err: Error) => fail(err.message));
  process.stdout.write(text);
} else if ('hub' in command) {
  process.stdout.write(await writeTypes(command).catch((err: Error) => fail(err.message)));
} else {
  const running = 'directory' in command ? backUp(command) : execute(command);
  const result = await running.catch((err: Error) => fail(err.message));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
}
