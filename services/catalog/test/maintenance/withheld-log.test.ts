import type { KeyLimitValues } from '@datahub/contract/key-limits';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { expect, it } from 'vitest';
import type { KeyDoc } from '../../src/documents.ts';
import { logWithheldOnce } from '../../src/maintenance/withheld-log.ts';
import { openCatalogStore } from '../../src/store.ts';

it('tells once, over a store of an older hub, which keys lose something', async () => {
  const store = await openCatalogStore('sqlite::memory:');
  await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'first', createdAt: 1 });
  const insert = (id: string, scopes: string[], limits: KeyLimitValues) =>
    store.keys.insert({ id, accountId: 'a', version: 1, hash: id, name: id, scopes, limits } as KeyDoc);
  await insert('whole', ['*'], {});
  await insert('reader', ['queries:execute'], { hubIds: ['h'] });
  await insert('admin', ['keys:admin'], { hubIds: ['h'] });
  await insert('editor', ['hubs:write', 'sources:write'], { queryIds: ['q'] });
  await insert('trainer', ['classifiers:train'], { hubIds: ['h'], classifierIds: ['c'] });
  const lines: string[] = [];
  const logger = {
    warn: ({ event, keyId, scope, limit }: Record<string, string>) =>
      lines.push(`${event}: ${keyId} ${scope} ${limit}`),
  } as unknown as Logger;
  const log = () => logWithheldOnce(store, { logger, nowMs: () => 2 });
  await log();
  const expected = [
    'key.withheld: admin keys:read hubIds',
    'key.withheld: admin keys:admin hubIds',
    'key.withheld: editor hubs:write queryIds',
    'key.withheld: editor sources:write queryIds',
    'key.withheld: trainer classifiers:train hubIds',
  ];
  expect(lines).toEqual(expected);
  await log();
  expect(lines).toEqual(expected);
  await store.close();
});
