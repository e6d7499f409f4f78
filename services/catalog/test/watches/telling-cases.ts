/** Tests of what watches tell, for every store. */

import type { TakenTick } from '@datahub/proto/catalog/v1/watches';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepHub } from '../../src/maintenance/deletion-sweep.ts';
import { keepVersion, stampChanged } from '../../src/query-version.ts';
import type { CatalogStore } from '../../src/store.ts';
import { everyTen, openCase } from './watch-fixture.ts';

export function describeTelling(name: string, open: () => Promise<CatalogStore>): void {
  describe(`what watches tell on ${name}`, () => {
    let at: Awaited<ReturnType<typeof openCase>>;
    beforeEach(async () => {
      at = await openCase(open);
    });
    afterEach(() => at.close());

    it('lists as many of the last events as are asked for, whatever is too young to be shown', async () => {
      const list = async (asked: { after?: string; newest?: boolean; limit: number }) => {
        const all = { after: '', newest: false, hubId: undefined, type: undefined };
        return (await at.calls.listEvents({ ...all, ...asked }, at.ctx())).events.map(
          ({ eventId }) => eventId,
        );
      };
      for (let watch = 0; watch < 4; watch++) await at.create(everyTen);
      at.wait(10);
      const fail = async (ticks: TakenTick[]) => {
        for (const tick of ticks) await at.end(tick, { outcome: 'failed' });
      };
      await fail(await at.take(2));
      at.wait(3);
      await fail(await at.take(2));
      const [first, second, third, fourth] = (await at.store.events.find({ accountId: 'a', limit: 9 })).map(
        ({ id }) => id,
      );
      expect(await list({ newest: true, limit: 1 })).toEqual([second]);
      expect(await list({ newest: true, limit: 9 })).toEqual([second, first]);
      expect(await list({ limit: 9 })).toEqual([first, second]);
      expect(await list({ after: second, limit: 9 })).toEqual([]);
      // Two events of a millisecond have ids of two.
      at.wait(2.001);
      expect(await list({ after: second, limit: 1 })).toEqual([third]);
      expect(await list({ newest: true, limit: 3 })).toEqual([fourth, third, second]);
    });

    it('tells no values of columns that were taken out while the run went on', async () => {
      const watchId = await at.create(everyTen, { when: 'always', include: ['id', 'name'] });
      const rowsAfter = async (include: string[]) => {
        const watch = await at.store.watches.get('a', watchId);
        if (watch === null) throw new Error('It was created.');
        const { runId } = await at.calls.runWatch({ watchId }, at.ctx());
        const [tick] = await at.take();
        await at.store.watches.replace({ ...watch, include, version: watch.version + 1 });
        await at.end(tick as TakenTick, { toldNdjson: Buffer.from('{"id":1,"name":"x"}\n') });
        const { run } = await at.calls.getWatchRun({ watchId, runId }, at.ctx());
        return run?.hasRows;
      };
      expect(await rowsAfter(['id', 'name', 'more'])).toBe(true);
      expect(await rowsAfter(['id'])).toBe(false);
    });

    it('tells nothing of a run that was stopped because the watch was paused', async () => {
      const watchId = await at.create(everyTen, { when: 'always' });
      const endWith = async (outcome: string) => {
        await at.calls.runWatch({ watchId }, at.ctx());
        const [tick] = await at.take();
        await at.end(tick as TakenTick, { outcome });
        return at.eventsOf();
      };
      expect(await endWith('skipped')).toEqual([]);
      expect(await endWith('failed')).toEqual(['watch.failed']);
      expect(await endWith('skipped')).toEqual(['watch.failed']);
      expect((await at.store.watchStates.get('a', watchId))?.isFailing).toBe(1);
    });
  });
}

/** What the tests of comparisons do with a catalog. */
function comparing(at: Awaited<ReturnType<typeof openCase>>) {
  /** Runs the watch; its query has these rows. Resolves to what the run says of changes. */
  const runWith = async (watchId: string, digest: string, during?: () => Promise<number>) => {
    const { runId } = await at.calls.runWatch({ watchId }, at.ctx());
    const [tick] = await at.take();
    const queryVersion = (await during?.()) ?? tick?.queryVersion;
    const isCompared = tick?.before !== undefined;
    const isNew = tick?.before?.digest !== digest;
    await at.end(tick as TakenTick, {
      queryVersion,
      changes: isCompared ? { new: isNew ? 2 : 0, changed: 0, gone: isNew ? 2 : 0 } : undefined,
      snapshot: isNew ? { digest, rows: Buffer.alloc(32), ndjson: Buffer.alloc(0) } : undefined,
      toldNdjson: Buffer.from(isCompared && isNew ? '{"id":1}\n' : ''),
    });
    const { run } = await at.calls.getWatchRun({ watchId, runId }, at.ctx());
    return { changes: run?.changes?.new, isTold: run?.eventId !== undefined, hasRows: run?.hasRows };
  };
  const publish = async (change: object): Promise<number> => {
    const query = await at.store.queries.get('a', at.reading);
    if (query === null) throw new Error('It was stored.');
    await keepVersion(at.store, query);
    const next = stampChanged(query, { ...query, ...change }, { at: 2, keyId: 'k' });
    await at.store.queries.replace({ ...next, version: query.version + 1 });
    return query.version + 1;
  };
  return { runWith, publish };
}

const tellsNothing = { changes: undefined, isTold: false, hasRows: false };
const tells = { changes: 2, isTold: true, hasRows: true };
const same = { changes: 0, isTold: false, hasRows: false };

async function changeWatch(at: Awaited<ReturnType<typeof openCase>>): Promise<void> {
  const { runWith } = comparing(at);
  const watchId = await at.create(everyTen, { when: 'new', by: ['id'] });
  await runWith(watchId, 'one');
  const change = async () => {
    const watch = await at.store.watches.get('a', watchId);
    if (watch === null) throw new Error('It was created.');
    await at.store.watches.replace({ ...watch, by: ['v'], version: watch.version + 1 });
    return 1;
  };
  expect((await runWith(watchId, 'two', change)).isTold).toBe(false);
  expect(await runWith(watchId, 'three')).toEqual(tellsNothing);
  expect(await runWith(watchId, 'four')).toEqual(tells);
  const state = await at.store.watchStates.get('a', watchId);
  if (state?.snapshot === undefined) throw new Error('A run ended.');
  const { id, digest } = state.snapshot;
  await at.store.watchStates.replace({ ...state, snapshot: { id, digest }, version: state.version + 1 });
  expect(await runWith(watchId, 'five')).toEqual(tells);
}

export function describeComparing(name: string, open: () => Promise<CatalogStore>): void {
  describe(`what watches compare on ${name}`, () => {
    let at: Awaited<ReturnType<typeof openCase>>;
    let runWith: ReturnType<typeof comparing>['runWith'];
    let publish: ReturnType<typeof comparing>['publish'];
    beforeEach(async () => {
      at = await openCase(open);
      ({ runWith, publish } = comparing(at));
    });
    afterEach(() => at.close());

    it('begins anew after a change of what decides the rows of the query, not of its label', async () => {
      const watchId = await at.create(everyTen, { when: 'new', by: ['id'] });
      expect(await runWith(watchId, 'one')).toEqual(tellsNothing);
      expect(await runWith(watchId, 'two')).toEqual(tells);
      await publish({ label: 'another', cache: { maxAgeS: 5 } });
      expect(await runWith(watchId, 'three')).toEqual(tells);
      for (const change of [
        { query: 'SELECT 2' },
        { context: [{ key: 'a', valueJson: '1' }] },
        { sourceId: 'other' },
        { sessionJson: '{"role":"r"}' },
      ]) {
        await publish(change);
        expect(await runWith(watchId, `after ${Object.keys(change)}`)).toEqual(tellsNothing);
        expect(await runWith(watchId, `then ${Object.keys(change)}`)).toEqual(tells);
      }
    });

    it('begins anew if the query was published during a run, and then compares with the rows of that run', async () => {
      const watchId = await at.create(everyTen, { when: 'gone', by: ['id'] });
      await runWith(watchId, 'one');
      // The run executed the new text.
      expect(await runWith(watchId, 'two', () => publish({ query: 'SELECT 2' }))).toEqual(tellsNothing);
      expect(await runWith(watchId, 'three')).toEqual(tells);
      // The run had begun with the text before.
      const [before] = await at.store.queries.find({ accountId: 'a', limit: 1 });
      const late = async () => {
        await publish({ query: 'SELECT 3' });
        return before?.version as number;
      };
      expect(await runWith(watchId, 'four', late)).toEqual(tells);
      expect(await runWith(watchId, 'five')).toEqual(tellsNothing);
      // The new text has the same rows.
      expect(await runWith(watchId, 'five', () => publish({ query: 'SELECT 4' }))).toEqual(tellsNothing);
      expect(await runWith(watchId, 'five')).toEqual(same);
      expect(await runWith(watchId, 'six', () => publish({ label: 'l' }))).toEqual(tells);
    });

    it('have rows no longer once their watch, or its hub, is deleted', () => leaveNoRows(at));

    it('begins anew if the watch was changed during a run, but not if an older release stored no version', () =>
      changeWatch(at));
  });
}

async function leaveNoRows(at: Awaited<ReturnType<typeof openCase>>) {
  const { runWith } = comparing(at);
  const watches: string[] = [];
  for (let i = 0; i < 3; i++) watches.push(await at.create(everyTen, { when: 'new', by: ['id'] }));
  for (const watchId of watches)
    for (const digest of ['one', 'two', 'three']) {
      await runWith(watchId, digest);
      // Ids of runs sort by milliseconds.
      at.wait(0.01);
    }
  const kept = async () => [
    await at.store.watchRunRows.count({ accountId: 'a' }),
    await at.store.watchSnapshots.count({ accountId: 'a' }),
  ];
  expect(await kept()).toEqual([6, 3]);
  await at.calls.deleteWatch({ watchId: watches[0] as string, moreVersions: [] }, at.ctx());
  expect(await kept()).toEqual([4, 2]);
  await sweepHub(at.store, at.hub);
  expect(await kept()).toEqual([0, 0]);
}
