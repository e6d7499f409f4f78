import type { WatchCondition } from '@datahub/proto/catalog/v1/watches';
import { createCallContext } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { createInternalCalls } from '../../src/rpc/internal.ts';
import { openCatalogStore } from '../../src/store.ts';
import { everyTen, openCase } from '../watches/watch-fixture.ts';

let at: Awaited<ReturnType<typeof openCase>>;

beforeEach(async () => {
  at = await openCase(() => openCatalogStore('sqlite::memory:'));
});
afterEach(() => at.close());

const faultAt = (...path: string[]) => ({
  code: 'VALIDATION',
  errors: [expect.objectContaining({ path })],
});

it('in a watch is a fault of the member', async () => {
  for (const contextJson of ['{,', 'null', '[]'])
    await expect(at.create(everyTen, { contextJson })).rejects.toMatchObject(faultAt('context'));
  const condition = { column: 'a', is: '>', valueJson: '"a', forRuns: 1 } as WatchCondition;
  const created = at.create(everyTen, { when: 'condition', condition });
  await expect(created).rejects.toMatchObject(faultAt('condition', 'value'));
});

it('in what executors tell is a fault of the member', async () => {
  const { store } = at;
  const calls = createInternalCalls({ store, namespace: 'dh' } as Catalog, { leaseMs: 1, queryRunsMax: 9 });
  const described = { queryId: at.reading, version: 1, settingsVersion: '', signatureJson: '{}' };
  await expect(calls.saveSignature({ ...described, problemJson: '{' }, at.ctx())).rejects.toMatchObject(
    faultAt('problemJson'),
  );
  await expect(calls.saveSignature({ ...described, signatureJson: 'no' }, at.ctx())).rejects.toMatchObject(
    faultAt('signatureJson'),
  );
  const run = { accountId: 'a', queryId: at.reading, seed: Buffer.alloc(0), run: { at: new Date() } };
  const recorded = calls.recordRuns({ runs: [run as never] }, createCallContext({ timeoutMs: 1_000 }));
  await expect(recorded).rejects.toMatchObject({ code: 'VALIDATION' });
});
