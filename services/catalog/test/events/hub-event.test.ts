import { createIdFactory } from '@datahub/service-kit/id';
import { beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { KeyDoc } from '../../src/documents.ts';
import { createDeliveryPace } from '../../src/events/pace.ts';
import { sweepKeys } from '../../src/maintenance/key-sweep.ts';
import { createJobEventCalls } from '../../src/rpc/job-events.ts';
import { openCatalogWithHub } from '../catalog-fixture.ts';

const dayMs = 86_400_000;
let opened: Awaited<ReturnType<typeof openCatalogWithHub>>;
let catalog: Catalog;
let now: number;

beforeEach(async () => {
  opened = await openCatalogWithHub();
  ({ catalog } = opened);
  now = 42;
  catalog.nowMs = () => now;
  catalog.createId = createIdFactory({ namespace: 'dh' });
  catalog.pace = createDeliveryPace(() => 0);
  await opened.store.destinations.insert({
    ...{ id: 'd', accountId: 'a', version: 1, label: 'd', url: 'https://a.example/', disabled: 0 },
    ...{ events: ['query.broken'], secrets: [], createdAt: 1, updatedAt: null },
  });
});

const said = async () =>
  (await opened.store.events.find({ accountId: 'a', limit: 100 })).map(({ type, hubId, dataJson }) => ({
    type,
    hubId,
    ...JSON.parse(dataJson),
  }));
const typesSaid = async () => (await said()).map(({ type }) => type);

it('says that a query broke, drifted and works again, once each', async () => {
  const { calls, ctx, hub } = opened;
  const { query } = await opened.createQuery();
  const { queryId = '', version = 0 } = query ?? {};
  const saved = { queryId, version, settingsVersion: '1', signatureJson: '', problemJson: undefined };
  const save = (more: object) => calls.saveSignature({ ...saved, ...more }, ctx());
  const columns = (...names: string[]) =>
    JSON.stringify({ columns: names.map((name) => ({ name, type: 'text' })), variables: [] });
  const problemJson = JSON.stringify({ code: 'SQL_REJECTED', detail: 'no table' });
  await save({ signatureJson: columns('one') });
  for (let i = 0; i < 2; i++) await save({ problemJson });
  for (let i = 0; i < 2; i++) await save({ signatureJson: columns('one') });
  for (let i = 0; i < 2; i++) await save({ signatureJson: columns('one', 'two') });
  const of = { hubId: hub.id, queryId, label: 'q', version: 1 };
  expect(await said()).toEqual([
    { type: 'query.published', ...of, keyId: 'k' },
    { type: 'query.broken', ...of, code: 'SQL_REJECTED', detail: 'no table' },
    { type: 'query.mended', ...of },
    { type: 'query.drifted', ...of, columns: [{ name: 'two', change: 'added' }] },
  ]);
  const [delivery] = await opened.store.deliveries.find({ accountId: 'a', limit: 10 });
  expect(delivery?.type).toBe('query.broken');
});

it('says that a query was published, but not that it moved', async () => {
  const { calls, ctx } = opened;
  const queryId = (await opened.createQuery()).query?.queryId ?? '';
  const parentNodeId = await opened.createFolder('f');
  const update = (change: object) =>
    calls.updateQuery({ queryId, moreVersions: [], ...change } as never, ctx());
  await update({ parentNodeId });
  await update({ query: 'SELECT 2' });
  expect((await said()).map(({ type, version }) => [type, version])).toEqual([
    ['query.published', 1],
    ['query.published', 3],
  ]);
});

it('says once that a source cannot be reached, and once that it can', async () => {
  const { calls, ctx, store } = opened;
  const note = (reachable: boolean) =>
    calls.noteSource({ sourceId: 's', reachable, code: reachable ? undefined : 'SOURCE_AUTH' }, ctx());
  for (const reachable of [true, false]) await note(reachable);
  // The check of the source's queries keeps what is known.
  await calls.takeSourceCheck({ sourceId: 's', everyMs: 10 }, ctx());
  await Promise.all([note(false), note(false)]);
  await Promise.all([note(true), note(true)]);
  expect(await said()).toMatchObject([
    { type: 'source.unreachable', sourceId: 's', code: 'SOURCE_AUTH' },
    { type: 'source.reachable', unreachableSince: new Date(42).toISOString() },
  ]);
  await store.sources.delete('a', 's');
  expect(await store.sourceChecks.count({ accountId: 'a' })).toBe(1);
  await expect(note(false)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('warns 14 and 2 days before a key expires, unless it is replaced or never lived so long', async () => {
  const key = (id: string, days: number, more: Partial<KeyDoc> = {}) =>
    opened.store.keys.insert({
      ...{ id, accountId: 'a', version: 1, hash: id, name: id, scopes: [], limits: {}, lastCharacters: 'x' },
      ...{ createdAt: 0, lastUsedAt: null, expiresAt: days * dayMs },
      ...more,
    } as KeyDoc);
  await key('long', 30);
  await key('forever', 0, { expiresAt: null });
  await key('week', 7);
  await key('replaced', 30, { successor: { keyId: 'x', expiresAt: null } });
  const told: string[] = [];
  for (let day = 0; day <= 31; day += 0.5) {
    now = day * dayMs;
    const before = (await said()).length;
    for (let i = 0; i < 2; i++)
      await sweepKeys(catalog, { expiredKeptMs: dayMs }, new AbortController().signal);
    for (const { type, name } of (await said()).slice(before)) told.push(`${day} ${type} ${name}`);
  }
  expect(told).toEqual(['5 key.expiring week', '16 key.expiring long', '28 key.expiring long']);
  // The others have expired a day ago.
  expect((await opened.store.keys.find({ accountId: 'a', limit: 9 })).map(({ id }) => id)).toEqual([
    'forever',
  ]);
});

it('says once that a job ended, in the hub of its query', async () => {
  const { tellJobEnded } = createJobEventCalls(catalog);
  const queryId = (await opened.createQuery()).query?.queryId ?? '';
  const job = { accountId: 'a', jobId: 'j', classifierId: 'c', queryId, state: 'done', trained: 3 };
  const tell = (more: object) => tellJobEnded({ ...job, code: undefined, ...more });
  await Promise.all([tell({}), tell({})]);
  await tell({ jobId: 'k', queryId: 'gone', state: 'failed', code: 'NOT_FOUND' });
  expect((await said()).slice(1)).toEqual([
    {
      type: 'job.ended',
      hubId: opened.hub.id,
      jobId: 'j',
      classifierId: 'c',
      queryId,
      state: 'done',
      trained: 3,
    },
    expect.objectContaining({ type: 'job.ended', hubId: null, jobId: 'k', code: 'NOT_FOUND' }),
  ]);
  expect(await typesSaid()).toHaveLength(3);
});
