import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { endDelivery, redeliver, takeDelivery, testType } from '../../src/events/deliveries.ts';
import type { DeliveryDoc, DestinationDoc } from '../../src/events/documents.ts';
import { eventRecords, makeDelivery, makeEvent } from '../../src/events/event.ts';
import { askRecipient } from '../../src/events/mail.ts';
import { createDeliveryPace } from '../../src/events/pace.ts';
import { createDeliverySweep } from '../../src/maintenance/delivery-sweep.ts';
import { createInternalCalls } from '../../src/rpc/internal.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { clockOf } from '../catalog-fixture.ts';

const start = Date.parse('2026-05-01T00:00:00Z');
const hourMs = 3_600_000;

describe('deliveries', () => {
  let store: CatalogStore;
  let catalog: Catalog;
  let now: number;
  let elapsed: number;

  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
    now = start;
    elapsed = 0;
    const createId = createIdFactory({ namespace: 'dh' });
    const parts = { store, createId, nowMs: () => now, random: () => 0.5, namespace: 'dh' };
    catalog = {
      ...parts,
      pace: createDeliveryPace(() => elapsed),
      eventClock: clockOf(parts.nowMs),
    } as unknown as Catalog;
    await insert('one', { events: ['watch.failed'] });
  });
  afterEach(() => store.close());

  const insert = (id: string, more: Partial<DestinationDoc> = {}) =>
    store.destinations.insert({
      ...{ id, accountId: 'a', version: 1, label: id, url: 'https://a.example/', events: [], disabled: 0 },
      ...{ secrets: [{ sealed: 's', expiresAt: null }], createdAt: 1, updatedAt: null },
      ...more,
    });
  const event = (hubId = 'h') =>
    makeEvent(catalog, { accountId: 'a', hubId, type: 'watch.failed', dataJson: '{"label":"w"}' });
  const tell = async (to: string[] = [], hubId = 'h'): Promise<void> => {
    for (const { collection, doc } of await eventRecords(catalog, await event(hubId), to))
      await store[collection as 'deliveries' | 'events'].insert(doc as never);
  };
  const all = () => store.deliveries.find({ accountId: 'a', limit: 100 });
  const take = async (): Promise<TakenDelivery[]> => {
    const { found: due } = await store.deliveries.findDue(now, 100);
    const taken = await Promise.all(due.map((one) => takeDelivery(catalog, one)));
    return taken.filter((one) => one !== undefined);
  };
  const end = ({ accountId, deliveryId, lease }: TakenDelivery, status?: number) =>
    endDelivery(catalog, { accountId, deliveryId, lease, status, error: undefined, durationMs: 1 });
  const destination = async (id: string) => (await store.destinations.get('a', id)) as DestinationDoc;

  it('waits for no more than a second behind a thousand of another account', async () => {
    for (let i = 0; i < 1_000; i++) await tell(['one']);
    const due = async () => (await store.deliveries.findDue(now, 2_000)).found.length;
    // Two hundred at once, then twenty a second.
    expect(await due()).toBe(201);
    now += 5_000;
    elapsed += 5_000;
    expect(await due()).toBe(301);
    await insert('theirs', { accountId: 'b' });
    const event = { accountId: 'b', hubId: 'h', type: 'watch.failed', dataJson: '{}' } as const;
    for (const { collection, doc } of await eventRecords(catalog, await makeEvent(catalog, event), [
      'theirs',
    ]))
      await store[collection as 'deliveries' | 'events'].insert(doc as never);
    const { takeDeliveries } = createInternalCalls(catalog, { leaseMs: 1, queryRunsMax: 1 });
    const running: { accountId: string; count: number }[] = [];
    let asks = 0;
    for (let found = false; !found && asks < 20; asks++) {
      const { deliveries } = await takeDeliveries({ limit: 32, running }, {} as never);
      found = deliveries.some(({ accountId }) => accountId === 'b');
      if (asks === 0) expect(deliveries).toHaveLength(8);
      // Their destination hangs.
      running[0] = { accountId: 'a', count: 8 };
      now += 100;
    }
    expect(asks).toBeLessThan(10);
  });

  it.each([
    { was: 'made', madeAhead: true, attempt: async () => {} },
    { was: 'leased', madeAhead: false, attempt: async () => void (await take()) },
    {
      ...{ was: 'to be repeated', madeAhead: false },
      attempt: async () => void (await end((await take())[0] as TakenDelivery, 500)),
    },
  ])('is sent after the clock was set back, if it was $was before', async ({ madeAhead, attempt }) => {
    const sweep = createDeliverySweep(catalog, () => elapsed);
    await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'a', createdAt: 1 });
    await sweep(AbortSignal.timeout(60_000));
    if (!madeAhead) await tell();
    now += 200_000_000;
    if (madeAhead) await tell();
    await attempt();
    const [{ id }] = (await all()) as [DeliveryDoc];
    now -= 200_000_000;
    expect(await take()).toEqual([]);
    elapsed += 600_000;
    await sweep(AbortSignal.timeout(60_000));
    expect((await take()).map(({ deliveryId }) => deliveryId)).toEqual([id]);
  });

  it('leaves what waits as long as it should', async () => {
    await tell();
    const sweep = createDeliverySweep(catalog, () => elapsed);
    await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'a', createdAt: 1 });
    await end((await take())[0] as TakenDelivery, 500);
    const waiting = await all();
    await sweep(AbortSignal.timeout(60_000));
    expect(await all()).toEqual(waiting);
  });

  it('is made due now after the clock was set back', async () => {
    now += 200_000_000;
    await tell();
    now -= 200_000_000;
    await tell();
    expect((await all()).map(({ dueAt }) => dueAt)).toContain(start);
  });

  it('lets those of others pass large ones whose account has no place', async () => {
    for (let i = 0; i < 21; i++) await tell();
    for (const delivery of await all())
      await store.deliveries.replace({ ...delivery, body: 'x'.repeat(300_000), version: 2 });
    const [one] = (await all()) as [DeliveryDoc];
    await insert('theirs', { accountId: 'b' });
    const theirs = { ...one, accountId: 'b', destinationId: 'theirs', version: 1, dueAt: now + 1 };
    await store.deliveries.insert({ ...theirs, type: testType });
    const { takeDeliveries } = createInternalCalls(catalog, { leaseMs: 1, queryRunsMax: 1 });
    now += 2;
    const running = [{ accountId: 'a', count: 8 }];
    const take = () => takeDeliveries({ limit: 8, running }, {} as never);
    // A slow store may leave the rest to another call.
    const looks = [await take(), await take()];
    const accounts = looks.flatMap(({ deliveries }) => deliveries.map(({ accountId }) => accountId));
    expect(accounts).toEqual(['b']);
  });

  it('finds places that the destinations of several accounts, which all hang, have left', async () => {
    const made = makeDelivery(catalog, await destination('one'), await event());
    const insertOf = async (accountId: string, count: number, dueAt: number) => {
      await insert('one', { accountId });
      for (let i = 0; i < count; i++)
        await store.deliveries.insert({ ...made, id: `${accountId}${i}`, accountId, dueAt });
    };
    for (let i = 0; i < 5; i++) await insertOf(`a${i}`, 60, now);
    await insertOf('b', 1, now + 1);
    now += 1;
    const { takeDeliveries } = createInternalCalls(catalog, { leaseMs: 1, queryRunsMax: 1 });
    const running: { accountId: string; count: number }[] = [];
    const taken: string[] = [];
    for (let asks = 0; asks < 10; asks++) {
      const { deliveries } = await takeDeliveries({ limit: 32 - taken.length, running }, {} as never);
      for (const { accountId } of deliveries) {
        taken.push(accountId);
        running.push({ accountId, count: taken.filter((one) => one === accountId).length });
      }
    }
    expect(taken).toContain('b');
    expect(taken.length).toBeLessThan(32);
  });

  it('keeps to the pace of the account when it is sent again', async () => {
    for (let i = 0; i < 400; i++) await tell(['one']);
    for (const one of await store.deliveries.find({ accountId: 'a', limit: 1_000 }))
      await store.deliveries.replace({ ...one, state: 'failed', dueAt: null, version: 2 });
    elapsed += 60_000;
    now += 60_000;
    for (const { id } of await store.deliveries.find({ accountId: 'a', limit: 1_000 }))
      await redeliver(catalog, 'a', id);
    expect((await store.deliveries.findDue(now, 1_000)).found).toHaveLength(201);
  });

  it('comes one after the other if it is a mail that waited for the next hour', async () => {
    catalog.mail = { url: 'https://hub.example', domains: [], hourlyMax: 100 };
    await insert('mail', { url: '', mailTo: 'a@a.example', mailKey: 'k1', confirmedAt: 1 });
    const made = makeDelivery(catalog, await destination('mail'), await event());
    for (let i = 0; i < 300; i++) await store.deliveries.insert({ ...made, id: `dh.dlv.${i}` });
    for (let asks = 0; asks < 3; asks++) await take();
    now = start + hourMs + 1_000;
    expect((await store.deliveries.findDue(now, 1_000)).found).toHaveLength(20 + 100);
  });

  it('is kept, as events are, while the newest of its account take less than 256 MiB', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    for (let i = 0; i < 3; i++) await tell();
    const events = () => store.events.find({ accountId: 'a', limit: 100 });
    for (const one of await events()) await store.events.replace({ ...one, size: 150_000_000, version: 2 });
    for (const one of await all()) await store.deliveries.replace({ ...one, size: 150_000_000, version: 2 });
    await tell();
    expect([(await events()).length, (await all()).length]).toEqual([2, 2]);
    random.mockRestore();
  });

  it('goes once to each destination that is named or wants its type, if it belongs to the hub', async () => {
    await insert('named');
    await insert('other', { hubIds: ['x'], events: ['watch.failed'] });
    await insert('silent');
    await tell(['named', 'one', 'other']);
    expect((await all()).map(({ destinationId }) => destinationId).sort()).toEqual(['named', 'one']);
  });

  it('is sent ten times over 75 hours, and then has failed', async () => {
    await tell();
    const at: number[] = [];
    for (let step = 0; step < 80 * 720 && at.length < 11; step++) {
      for (const taken of await take()) {
        at.push(Math.round((now - start) / 1_000));
        await end(taken, 500);
      }
      const next = (await all())[0]?.dueAt;
      if (next == null) break;
      now = next;
    }
    expect(at).toEqual([0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105]);
    expect((await all())[0]).toMatchObject({ state: 'failed', attempts: 10, status: 500, dueAt: null });
  });

  it('belongs to one executor, and to another one if that is lost', async () => {
    await tell();
    const taken = (await Promise.all([take(), take(), take()])).flat();
    expect(taken).toHaveLength(1);
    now += 60_000;
    const [again] = (await take()) as [TakenDelivery];
    expect(again.deliveryId).toBe(taken[0]?.deliveryId);
    await end(taken[0] as TakenDelivery, 500);
    expect((await all())[0]).toMatchObject({ state: 'pending', attempts: 0 });
    await end(again, 204);
    expect((await all())[0]).toMatchObject({ state: 'delivered', attempts: 1, status: 204 });
  });

  it('disables a destination that is gone, and tells the others', async () => {
    await insert('two', { events: ['destination.disabled'] });
    await tell();
    await end((await take())[0] as TakenDelivery, 410);
    expect(await destination('one')).toMatchObject({
      disabled: 1,
      disabledBecause: 'It answered with the status 410.',
    });
    const told = (await all()).filter(({ destinationId }) => destinationId === 'two');
    expect(told.map(({ type, state }) => [type, state])).toEqual([['destination.disabled', 'pending']]);
  });

  it('counts what an address answers to nobody who has another one by then', async () => {
    await tell();
    const [first] = await take();
    const moved = { ...(await destination('one')), url: 'https://new.example/', version: 2 };
    await store.destinations.replace(moved);
    expect(await end(first as TakenDelivery, 410)).toBe('pending');
    expect(await destination('one')).toEqual(moved);
    now += 6_000;
    const [second] = await take();
    expect(second).toMatchObject({ deliveryId: first?.deliveryId, url: 'https://new.example/' });
    expect(await end(second as TakenDelivery, 410)).toBe('failed');
    expect(await destination('one')).toMatchObject({ disabled: 1 });
  });

  it('keeps as failed what happens while the hub has disabled a destination, so that it can be sent later', async () => {
    const missed = async (change: Partial<DestinationDoc>) => {
      const before = new Set((await all()).map(({ id }) => id));
      const { id, version } = await destination('one');
      await store.destinations.delete('a', id);
      await insert(id, { events: ['watch.failed'], version, ...change });
      await tell();
      return (await all()).filter((one) => !before.has(one.id));
    };
    const because = { disabled: 1, disabledBecause: 'No delivery has arrived for three days.' };
    const [one] = await missed(because);
    expect(one).toMatchObject({ state: 'failed', dueAt: null, error: 'The destination is disabled.' });
    expect(await missed({ ...because, hubIds: ['other'] })).toEqual([]);
    expect(await missed({ ...because, mailTo: 'a@b.example', confirmedAt: 1, mailEndedAt: 2 })).toEqual([]);
    // Somebody wants to be told nothing.
    expect(await missed({ disabled: 1 })).toEqual([]);
    await missed({ disabled: 0 });
    expect(await redeliver(catalog, 'a', one?.id as string)).toBe(true);
    expect((await take()).map(({ deliveryId }) => deliveryId)).toContain(one?.id);
  });

  it('disables a destination that nothing reaches for three days, but not one that is reached between', async () => {
    const failOnce = async (status: number) => {
      await tell();
      for (const taken of await take()) await end(taken, status);
    };
    await failOnce(500);
    now += 71 * hourMs;
    await failOnce(200);
    expect(await destination('one')).not.toHaveProperty('failingSince');
    await failOnce(500);
    now += 71 * hourMs;
    await failOnce(500);
    expect((await destination('one')).disabled).toBe(0);
    now += 2 * hourMs;
    await failOnce(500);
    expect(await destination('one')).toMatchObject({ disabled: 1 });
    const pending = (await all()).filter(({ state }) => state === 'pending');
    now += 100 * hourMs;
    expect(await take()).toEqual([]);
    expect((await all()).filter(({ state }) => state === 'pending')).toEqual([]);
    expect(pending.length).toBeGreaterThan(0);
  });

  describe('of a mail', () => {
    beforeEach(async () => {
      catalog.mail = { url: 'https://hub.example', domains: [], hourlyMax: 1 };
      await insert('mail', { url: '', mailTo: 'a@a.example', mailKey: 'k1', confirmedAt: 1 });
    });
    const attempt = async (status?: number) => {
      const taken = await take();
      for (const one of taken) await end(one, status);
      return taken.length;
    };
    const mail = async () =>
      store.deliveries.insert(makeDelivery(catalog, await destination('mail'), await event()));

    it('counts once for the hour, however often it is tried', async () => {
      await mail();
      expect(await attempt(450)).toBe(1);
      now += 6_000;
      expect(await attempt(250)).toBe(1);
      await mail();
      expect(await attempt(250)).toBe(0);
    });

    it('disables no address by one failure a week after another, nor by failures of the mail server', async () => {
      await mail();
      await attempt(554);
      for (const status of [450, undefined, undefined]) {
        now += 7 * 24 * hourMs;
        await mail();
        await attempt(status);
        expect(await destination('mail')).toMatchObject({ disabled: 0 });
      }
    });
  });

  it('is sent again with the same id', async () => {
    await tell();
    const [first] = (await take()) as [TakenDelivery];
    expect(await redeliver(catalog, 'a', first.deliveryId)).toBe(false);
    await end(first, 500);
    // Also before its pause is over.
    expect(await redeliver(catalog, 'a', first.deliveryId)).toBe(true);
    const [next] = (await take()) as [TakenDelivery];
    await end(next, 200);
    expect(await redeliver(catalog, 'a', first.deliveryId)).toBe(true);
    expect((await take()).map(({ deliveryId, body }) => [deliveryId, body])).toEqual([
      [first.deliveryId, first.body],
    ]);
  });

  it('never reaches a recipient that it was not made for', async () => {
    catalog.mail = { url: 'https://hub.example', domains: [], hourlyMax: 100 };
    await insert('mail', { url: '', mailTo: 'a@a.example', mailKey: 'k1' });
    const asked = await askRecipient(catalog, await destination('mail'));
    await store.deliveries.insert(asked);
    expect((await take()).map(({ mail }) => mail?.to)).toEqual(['a@a.example']);
    now += 125_000;
    const change = async (more: Partial<DestinationDoc>) => {
      const old = await destination('mail');
      await store.destinations.replace({ ...old, ...more, version: old.version + 1 });
    };
    const refused = async (id: string) => {
      expect(await take()).toEqual([]);
      return (await store.deliveries.get('a', id))?.error;
    };
    // Another address has not been asked by this mail, whose link would not be for it.
    await change({ mailTo: 'b@b.example', mailKey: 'k2' });
    expect(await refused(asked.id)).toBe('This question no longer stands.');
    expect(await redeliver(catalog, 'a', asked.id)).toBe(false);
    // What an account wrote in a test, and what was made for another kind of address.
    const event = { id: 'evt_1', at: now, hubId: null, dataJson: '{"label":"Buy this"}', type: testType };
    const test = makeDelivery(catalog, await destination('mail'), event);
    // The link of a mail is whole, and that of a webhook is as the API says it.
    const ofRows = { ...event, dataJson: '{"rowsUrl":"/v1/watches/w/runs/r/rows"}' };
    expect(makeDelivery(catalog, await destination('mail'), ofRows).body).toContain(
      `rowsUrl: ${catalog.mail?.url.replace(/\/$/, '')}/v1/watches/w/runs/r/rows`,
    );
    await store.deliveries.insert(test);
    expect(await refused(test.id)).toBe('The recipient has not confirmed.');
    await change({ confirmedAt: now });
    expect(await redeliver(catalog, 'a', test.id)).toBe(true);
    const [taken] = (await take()) as [TakenDelivery];
    expect(taken.mail?.to).toBe('b@b.example');
    await end(taken, 200);
    await change({ mailTo: undefined, url: 'https://a.example/' } as Partial<DestinationDoc>);
    expect(await redeliver(catalog, 'a', test.id)).toBe(true);
    expect(await refused(test.id)).toBe('The destination is now an address of HTTP.');
  });
});
