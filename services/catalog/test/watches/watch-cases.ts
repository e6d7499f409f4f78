/** Tests of ticks, for every store: each has one record, whoever runs it, and whoever is killed. */

import type { TakenTick } from '@datahub/proto/catalog/v1/watches';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { CatalogStore } from '../../src/store.ts';
import type { WatchDoc, WatchStateDoc } from '../../src/watches/documents.ts';
import { createSchedules, type Schedule } from '../../src/watches/schedule.ts';
import { everyTen, openCase, start } from './watch-fixture.ts';

const leaseMs = 15_000;
const conflict = expect.objectContaining({ code: 'CONFLICT' });

/** The clock jumps, gateways are killed, and some end too late. */
async function runAtRandom(at: Awaited<ReturnType<typeof openCase>>): Promise<void> {
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const schedules: Schedule[] = [
    everyTen,
    { everyS: 17, missed: 'once', spreadS: 9 },
    { cron: '*/2 * * * *', timeZone: 'Europe/Berlin', missed: 'once' },
    { cron: '* * * * *', timeZone: 'UTC', missed: 'skip', spreadS: 30 },
  ];
  const watches = [];
  for (const schedule of schedules) {
    const watchId = await at.create(schedule);
    watches.push({ watchId, next: createSchedules()(watchId, schedule) });
  }
  for (let step = 0; step < 150; step++) {
    at.wait(random() < 0.05 ? 300 * random() : 12 * random());
    const taken = (await Promise.all([at.take(2), at.take(2), at.take(2)])).flat();
    at.wait(random() < 0.2 ? 20 * random() : 0);
    // Some gateways are killed, some end too late.
    const ended = taken.filter(() => random() < 0.7);
    await Promise.all(ended.map((tick) => at.end(tick).catch(() => {})));
  }
  for (const { watchId, next } of watches) {
    const runs = await at.runsOf(watchId);
    expect(runs.length).toBeGreaterThan(5);
    let expected = next(start) as number;
    for (const { due, until, ticks } of runs) {
      expect(start + due * 1_000).toBe(expected);
      for (let tick = 1; tick < ticks; tick++) expected = next(expected) as number;
      expect(start + until * 1_000).toBe(expected);
      expected = next(expected) as number;
    }
  }
}

export function describeWatches(name: string, open: () => Promise<CatalogStore>): void {
  describe(`ticks on ${name}`, () => {
    let at: Awaited<ReturnType<typeof openCase>>;
    beforeEach(async () => {
      at = await openCase(open);
    });
    afterEach(() => at.close());

    it('gives a tick to one of several gateways', async () => {
      const watchId = await at.create(everyTen);
      expect(await at.take()).toEqual([]);
      at.wait(10);
      const taken = (await Promise.all([at.take(), at.take(), at.take()])).flat();
      expect(taken.map((tick) => tick.watchId)).toEqual([watchId]);
      await at.end(taken[0] as TakenTick);
      await at.end(taken[0] as TakenTick);
      expect(await at.runsOf(watchId)).toMatchObject([{ due: 10, outcome: 'ok', ticks: 1 }]);
    });

    it('leaves the ticks of an account that runs as many as it may', async () => {
      const watchId = await at.create(everyTen);
      at.wait(11);
      const { accountId } = at;
      const share = { running: [{ accountId, count: 2 }], accountMax: 2 };
      expect(await at.takeTicks(100, share)).toMatchObject({ ticks: [], lagMs: 0 });
      expect((await at.takeTicks(100, { ...share, accountMax: 3 })).ticks).toMatchObject([{ watchId }]);
    });

    it('says when the next tick comes, so that a gateway need not ask before', async () => {
      const next = async () => (await at.takeTicks()).nextInMs;
      expect(await next()).toBe(3_600_000);
      await at.create(everyTen);
      const inMs = await next();
      expect(inMs).toBeGreaterThan(0);
      expect(inMs).toBeLessThanOrEqual(10_000);
      at.wait((inMs as number) / 1_000);
      const [tick] = await at.take();
      // Of the lease, in case the gateway is lost.
      expect(await next()).toBe(15_000);
      await at.end(tick as TakenTick);
      expect(await next()).toBe(10_000);
    });

    it('gives a read of a lost gateway to another one, and ignores the first if it comes back', async () => {
      const watchId = await at.create(everyTen);
      at.wait(10);
      const [lost] = await at.take();
      at.wait(leaseMs / 1_000 - 1);
      expect(await at.take()).toEqual([]);
      at.wait(1);
      const [again] = await at.take();
      expect(again?.runId).toBe(lost?.runId);
      await expect(at.end(lost as TakenTick, { outcome: 'failed' })).rejects.toEqual(conflict);
      await expect(at.calls.keepTick(lost as TakenTick, at.ctx())).rejects.toEqual(conflict);
      await at.calls.keepTick(again as TakenTick, at.ctx());
      await at.end(again as TakenTick);
      expect(await at.runsOf(watchId)).toMatchObject([
        { due: 10, outcome: 'ok' },
        { due: 20, outcome: 'skipped', ticks: 1 },
      ]);
    });

    it('never starts a write a second time', async () => {
      const watchId = await at.create(everyTen, { queryId: at.writing });
      at.wait(10);
      expect(await at.take()).toMatchObject([{ watchId, writes: true }]);
      at.wait(16);
      const isRunning = async () => (await at.calls.getWatch({ watchId }, at.ctx())).watch?.running;
      // Until its run is recorded.
      expect(await isRunning()).toBe(true);
      expect(await at.take()).toEqual([]);
      expect(await isRunning()).toBe(false);
      expect(await at.runsOf(watchId)).toMatchObject([
        { due: 10, outcome: 'unknown', code: 'OUTCOME_UNKNOWN' },
        { due: 20, outcome: 'skipped' },
      ]);
      expect(await at.eventsOf()).toEqual(['watch.failed']);
    });

    it('counts ticks that nobody ran as missed, and makes up for them once if it is asked to', async () => {
      const skips = await at.create(everyTen);
      const once = await at.create({ everyS: 10, missed: 'once' });
      at.wait(105);
      const taken = await at.take();
      expect(taken.map(({ watchId }) => watchId)).toEqual([once]);
      await at.end(taken[0] as TakenTick);
      expect(await at.runsOf(skips)).toMatchObject([{ due: 10, until: 100, ticks: 10, outcome: 'missed' }]);
      expect(await at.runsOf(once)).toMatchObject([
        { due: 10, until: 90, ticks: 9, outcome: 'missed' },
        { due: 100, until: 100, ticks: 1, outcome: 'ok' },
      ]);
      at.wait(5);
      expect((await at.take()).length).toBe(2);
    });

    it('has one record of years that were missed, and runs at once', async () => {
      const [skips, once] = [await at.create(everyTen), await at.create({ everyS: 10, missed: 'once' })];
      at.wait(10 * 365 * 86_400);
      expect(await at.take()).toMatchObject([{ watchId: once }]);
      at.wait(10);
      expect(await at.take()).toMatchObject([{ watchId: skips }]);
      expect(await at.runsOf(skips)).toMatchObject([{ outcome: 'missed', ticks: 31_536_000 }]);
    });

    it('runs again at the next tick after the clock was set back', async () => {
      const watchId = await at.create(everyTen);
      at.wait(86_400);
      await at.take();
      await at.take();
      await at.take();
      at.wait(-86_400);
      await at.store.health();
      const { sweepWatches } = await import('../../src/maintenance/watch-sweep.ts');
      const catalog = {
        store: at.store,
        nowMs: () => start,
        schedules: createSchedules(),
      } as unknown as Catalog;
      await sweepWatches(catalog, new AbortController().signal);
      at.wait(10);
      expect(await at.take()).toMatchObject([{ watchId }]);
    });

    it('lets those of others pass large ones whose account has no place', async () => {
      const watchId = await at.create(everyTen);
      const { watchStates } = at.store;
      const state = (await watchStates.get(at.accountId, watchId)) as WatchStateDoc;
      // As older releases kept them.
      const large = { ...state, version: 1, basis: 'x'.repeat(300_000), tick: start, dueAt: start };
      for (let i = 0; i < 20; i++) await watchStates.insert({ ...large, id: `large${i}` });
      await watchStates.insert({ ...state, version: 1, accountId: 'b', tick: start, dueAt: start + 1 });
      at.wait(1);
      const running = [{ accountId: at.accountId, count: 48 }];
      for (let i = 0; i < 2; i++) await at.takeTicks(8, { running, accountMax: 24 });
      // It was looked at: it has no watch.
      expect(await watchStates.get('b', watchId)).toBeNull();
    });

    it('keeps little of what it is about, and knows what older releases kept', async () => {
      const contextJson = JSON.stringify({ a: '"'.repeat(20_000) });
      const condition = { column: 'a', is: '>', valueJson: '1', forRuns: 1 };
      const watchId = await at.create(everyTen, { contextJson, when: 'condition', condition });
      const run = async () => {
        at.wait(10);
        for (const tick of await at.take()) await at.end(tick, { isMet: true, queryVersion: 1 });
      };
      await run();
      const { watchStates, watches } = at.store;
      const state = (await watchStates.get(at.accountId, watchId)) as WatchStateDoc;
      expect(JSON.stringify(state).length).toBeLessThan(2_000);
      const watched = (await watches.get(at.accountId, watchId)) as WatchDoc;
      const basis = JSON.stringify([
        watched.queryId,
        ...[contextJson, watched.when, watched.condition, watched.by, []],
      ]);
      await watchStates.replace({ ...state, basis, version: state.version + 1 });
      await run();
      expect(await at.eventsOf()).toEqual(['watch.firing']);
    });

    it('runs when it is asked to, once for one operation', async () => {
      const watchId = await at.create(everyTen);
      const operation = `${start}:once`;
      const { runId } = await at.calls.runWatch({ watchId }, at.ctx(operation));
      expect(await at.calls.runWatch({ watchId }, at.ctx(operation))).toEqual({ runId });
      const [tick] = await at.take();
      expect(tick?.runId).toBe(runId);
      await expect(at.calls.runWatch({ watchId }, at.ctx())).rejects.toEqual(conflict);
      await at.end(tick as TakenTick);
      expect(await at.calls.runWatch({ watchId }, at.ctx(operation))).toEqual({ runId });
      expect(await at.take()).toEqual([]);
      at.wait(10);
      expect((await at.take()).length).toBe(1);
    });

    it('pauses with an event if its query is gone, and records the tick', async () => {
      const watchId = await at.create(everyTen);
      await at.store.queries.delete('a', at.reading);
      at.wait(10);
      expect(await at.take()).toEqual([]);
      expect(await at.runsOf(watchId)).toMatchObject([{ due: 10, outcome: 'skipped', code: 'NOT_FOUND' }]);
      expect(await at.eventsOf()).toEqual(['watch.paused']);
      expect((await at.calls.getWatch({ watchId }, at.ctx())).watch?.settings?.paused).toBe(true);
    });

    it('pauses at the next tick if the role of its person no longer allows the query', async () => {
      const createId = createIdFactory({ namespace: 'dh' });
      const person = {
        ...{ accountId: 'a', id: createId('prsn', 1), version: 1, createdAt: 1, updatedAt: null },
        ...{ issuer: 'i', subject: 'ada', identity: 'ada', name: 'Ada', groups: [] },
        ...{ signedInAt: 1, confirmedUntil: 1, refreshAt: null },
      };
      await at.store.people.insert(person);
      const who = { kind: 'subject', value: 'ada' } as const;
      const grant = { accountId: 'a', id: createId('grnt', 1), version: 1, who, createdAt: 1 };
      await at.store.grants.insert({ ...grant, role: 'editor' });
      const ofPerson = async (queryId: string) => {
        const watchId = await at.create(everyTen, { queryId });
        const watch = await at.store.watches.get('a', watchId);
        if (watch === null) throw new Error('It was created.');
        await at.store.watches.replace({ ...watch, keyId: person.id, version: watch.version + 1 });
        return watchId;
      };
      const [reading, writing] = [await ofPerson(at.reading), await ofPerson(at.writing)];
      at.wait(10);
      for (const tick of await at.take()) await at.end(tick);
      await at.store.grants.replace({ ...grant, role: 'viewer', version: 2 });
      at.wait(10);
      // A viewer may still execute the query that reads.
      expect((await at.take()).map(({ watchId }) => watchId)).toEqual([reading]);
      expect(await at.runsOf(writing)).toMatchObject([
        { due: 10, outcome: 'ok' },
        { due: 20, outcome: 'skipped', code: 'SCOPE_DENIED' },
      ]);
      expect(await at.eventsOf()).toEqual(['watch.paused']);
    });

    it('stops a run whose key was revoked, and skips it also if an executor refused it first', async () => {
      const watchId = await at.create(everyTen);
      at.wait(10);
      const [tick] = await at.take();
      await at.store.keys.delete('a', at.keyId);
      await expect(at.calls.keepTick(tick as TakenTick, at.ctx())).rejects.toMatchObject({
        code: 'KEY_INVALID',
      });
      await at.end(tick as TakenTick, { outcome: 'failed', code: 'KEY_INVALID' });
      at.wait(60);
      expect(await at.take()).toEqual([]);
      expect(await at.runsOf(watchId)).toMatchObject([{ due: 10, outcome: 'skipped', code: 'KEY_INVALID' }]);
      expect(await at.eventsOf()).toEqual(['watch.paused']);
    });

    it('tells nothing that it read for a key that may do less by the end of the run, and pauses', async () => {
      const watchId = await at.create(everyTen, { include: ['id'] });
      const wrote = await at.create(everyTen, { queryId: at.writing, include: ['id'] });
      const broke = await at.create(everyTen);
      const stopped = await at.create(everyTen);
      at.wait(10);
      const ticks = await at.take();
      const endOf = (id: string, found: Parameters<typeof at.end>[1]) =>
        at.end(ticks.find((tick) => tick.watchId === id) as TakenTick, found);
      const key = await at.store.keys.get('a', at.keyId);
      if (key === null) throw new Error('It was inserted.');
      await at.store.keys.replace({ ...key, scopes: ['watches:write'], version: key.version + 1 });
      const rows = { rows: 1, toldNdjson: Buffer.from('{"id":1}\n') };
      await endOf(watchId, rows);
      await endOf(wrote, rows);
      await endOf(broke, { outcome: 'failed', code: 'QUERY_FAILED' });
      await endOf(stopped, {
        outcome: 'skipped',
        code: 'CANCELLED',
        detail: 'The watch was deleted or paused.',
      });
      const code = 'SCOPE_DENIED';
      expect(await at.runsOf(watchId)).toMatchObject([{ due: 10, outcome: 'skipped', code }]);
      expect(await at.runsOf(stopped)).toMatchObject([{ due: 10, outcome: 'skipped', code }]);
      // What it wrote stays written.
      expect(await at.runsOf(wrote)).toMatchObject([{ due: 10, outcome: 'ok' }]);
      expect(await at.runsOf(broke)).toMatchObject([{ due: 10, outcome: 'failed', code: 'QUERY_FAILED' }]);
      expect(
        (await at.store.watchRuns.find({ accountId: 'a', limit: 9 })).flatMap((run) => run.rowsId ?? []),
      ).toEqual([]);
      expect((await at.eventsOf()).toSorted()).toEqual(['watch.failed', ...Array(4).fill('watch.paused')]);
      at.wait(10);
      expect(await at.take()).toEqual([]);
    });

    it('tells nothing of a run that was refused while its key was narrowed for a moment', async () => {
      const watchId = await at.create(everyTen);
      at.wait(10);
      const [tick] = await at.take();
      const watch = await at.store.watches.get('a', watchId);
      if (watch === null) throw new Error('It was created.');
      await at.store.watches.replace({ ...watch, paused: 1, version: watch.version + 1 });
      await at.end(tick as TakenTick, { outcome: 'failed', code: 'SCOPE_DENIED' });
      expect(await at.runsOf(watchId)).toMatchObject([{ due: 10, outcome: 'skipped' }]);
      expect(await at.eventsOf()).toEqual([]);
    });

    it('is changed without the destinations that were deleted since, and names no others that are missing', async () => {
      const watchId = await at.create(everyTen);
      const watch = await at.store.watches.get('a', watchId);
      if (watch === null) throw new Error('It was created.');
      await at.store.watches.replace({ ...watch, to: ['gone'], version: watch.version + 1 });
      const settings = (await at.calls.getWatch({ watchId }, at.ctx())).watch?.settings;
      if (settings === undefined) throw new Error('It has settings.');
      const change = (more: object) =>
        at.calls.updateWatch(
          { watchId, settings: { ...settings, ...more }, moreVersions: [], expectedVersion: undefined },
          at.ctx(),
        );
      await expect(change({ to: ['gone', 'never there'] })).rejects.toMatchObject({ code: 'VALIDATION' });
      expect((await change({ paused: true })).watch?.settings).toMatchObject({ paused: true, to: [] });
    });

    it('forgets a watch that was deleted while it ran', async () => {
      const watchId = await at.create(everyTen);
      at.wait(10);
      const [tick] = await at.take();
      await at.calls.deleteWatch({ watchId, moreVersions: [], expectedVersion: undefined }, at.ctx());
      await expect(at.end(tick as TakenTick)).rejects.toEqual(conflict);
      expect(await at.store.watchStates.get('a', watchId)).toBeNull();
    });

    it('has one record for each tick, whatever the clock does and whoever is killed', () => runAtRandom(at));
  });
}
