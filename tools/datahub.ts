/**
 * `npm run datahub -- keys create --name N [--scopes a,b] [--new-account] | keys list | keys rotate ID | keys revoke ID`
 * and `npm run datahub -- sealing-keys`. Goes through the hub while one runs (at DATAHUB_URL, with DATAHUB_API_KEY or the
 * key in the data directory); else opens the store itself. A new account is made in the store only.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCatalogConfig } from '@datahub/catalog/config';
import { createKeyCalls } from '@datahub/catalog/rpc/keys';
import { openCatalogStore } from '@datahub/catalog/store';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createCallContext } from '@datahub/service-kit/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { readSettings } from '@datahub/service-kit/settings';

const usage = `usage: npm run datahub -- keys create --name NAME [--scopes a,b] [--new-account]
       npm run datahub -- keys list
       npm run datahub -- keys rotate KEY_ID
       npm run datahub -- keys revoke KEY_ID
       npm run datahub -- sealing-keys`;

interface Asked {
  action: string;
  keyId: string;
  name: string;
  scopes: string[];
  newAccount: boolean;
}

type Answer = (asked: Asked) => Promise<unknown>;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function read(): Asked | 'sealing-keys' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: 'string' },
      scopes: { type: 'string' },
      'new-account': { type: 'boolean', default: false },
    },
  });
  const [noun, action = '', keyId = ''] = positionals;
  if (noun === 'sealing-keys') return 'sealing-keys';
  const needsId = action === 'rotate' || action === 'revoke';
  const known = needsId || action === 'list' || (action === 'create' && values.name !== undefined);
  if (noun !== 'keys' || !known || (needsId && keyId === '')) fail(usage);
  return {
    action,
    keyId,
    name: values.name ?? '',
    scopes: values.scopes?.split(',').map((scope) => scope.trim()) ?? [],
    newAccount: values['new-account'],
  };
}

/** Undefined when no hub answers. */
async function throughHub(dataDir: string): Promise<Answer | undefined> {
  const url = process.env.DATAHUB_URL ?? `http://127.0.0.1:${process.env.PORT ?? 8080}`;
  const answers = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1_000) }).then(
    (response) => response.ok,
    () => false,
  );
  if (!answers) return undefined;
  const kept = join(dataDir, 'api-key');
  const key =
    process.env.DATAHUB_API_KEY ??
    (
      await readFile(kept, 'utf8').catch(() =>
        fail(`A hub runs at ${url}, but there is no key: set DATAHUB_API_KEY, or keep one in ${kept}.`),
      )
    ).trim();
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
  return async ({ action, keyId, name, scopes, newAccount }) => {
    if (newAccount)
      fail('A hub is running. Stop it to make a new account: the store is open to one process at a time.');
    if (action === 'create') return call('POST', '', { name, ...(scopes.length > 0 ? { scopes } : {}) });
    if (action === 'rotate') return call('POST', `/${keyId}/rotate`, {});
    return action === 'revoke' ? call('DELETE', `/${keyId}`) : call('GET', '');
  };
}

async function inStore(asked: Asked): Promise<unknown> {
  const { catalog: config } = readSettings(process.env, (reader) => ({ catalog: readCatalogConfig(reader) }));
  const store = await openCatalogStore(config.storeUrl);
  try {
    const createId = createIdFactory({ namespace: config.namespace });
    const first = await store.accounts.getUnique('name', 'first');
    let accountId = first?.id;
    if (asked.newAccount || accountId === undefined) {
      const id = createId('acct', Date.now());
      const name = accountId === undefined ? 'first' : id;
      await store.accounts.insert({ id, accountId: id, version: 1, name, createdAt: Date.now() });
      accountId = id;
    }
    const calls = createKeyCalls({ store, createId, nowMs: Date.now } as Parameters<
      typeof createKeyCalls
    >[0]);
    const principal = { accountId, keyId: 'operator', scopes: ['*'], limits: undefined };
    const ctx = createCallContext({ timeoutMs: 10_000, principal });
    if (asked.action === 'create') {
      const { key, secret } = await calls.createKey(
        { name: asked.name, scopes: asked.scopes, limits: undefined, expiresAt: undefined },
        ctx,
      );
      return { accountId, keyId: key?.keyId, key: secret, name: key?.name, scopes: key?.scopes };
    }
    if (asked.action === 'rotate') {
      const { key, secret, previousExpiresAt } = await calls.rotateKey({ keyId: asked.keyId }, ctx);
      return { keyId: key?.keyId, key: secret, previousExpiresAt };
    }
    if (asked.action === 'revoke') return calls.revokeKey({ keyId: asked.keyId }, ctx);
    return (await calls.listKeys({ page: undefined }, ctx)).keys;
  } finally {
    await store.close();
  }
}

const asked = read();
if (asked === 'sealing-keys') {
  const { publicKey, privateKey } = await generateKeyPair();
  process.stdout.write(
    `DATAHUB_SEALING_PUBLIC_KEYS=${publicKey}\nDATAHUB_SEALING_PRIVATE_KEYS=${privateKey}\n`,
  );
} else {
  const hub = await throughHub(process.env.DATAHUB_DATA_DIR ?? 'data');
  const answer = await (hub ?? inStore)(asked).catch((err: Error) => fail(err.message));
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
}
