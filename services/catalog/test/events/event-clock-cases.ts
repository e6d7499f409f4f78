/** Tests of readers of events while clocks are set, for every store. */

import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { createEventClock } from '../../src/events/event-clock.ts';
import { sayOnce } from '../../src/events/hub-event.ts';
import { createDeliveryPace } from '../../src/events/pace.ts';
import { createWatchRunCalls } from '../../src/rpc/watch-runs.ts';
import type { CatalogStore } from '../../src/store.ts';
import { principalOf } from '../catalog-fixture.ts';

const accountId = 'a';
const asked = { newest: false, hubId: undefined, type: undefined, limit: 100 };

/** A store, the clock of its machine, and a reader that continues. */
async function openReader(open: () => Promise<CatalogStore>) {
  const store = await open();
  let [now, elapsed, said] = [Date.parse('2026-05-01T00:00:00Z'), 0, 0];
  const seen: string[] = [];
  return {
    seen,
    stored: async () => (await store.events.find({ accountId, limit: 1_000 })).map(({ id }) => id),
    wait: (ms: number) => {
      now += ms;
      elapsed += ms;
    },
    setBack: (ms: number) => {
      now -= ms;
    },
    /** A process of the catalog whose clock differs from that of the others. */
    start: (differsMs = 0) => {
      const nowMs = () => now + differsMs;
      const parts = { store, nowMs, namespace: 'dh', createId: createIdFactory({ namespace: 'dh' }) };
      const eventClock = createEventClock({ nowMs, elapsedMs: () => elapsed });
      const catalog = { ...parts, eventClock, pace: createDeliveryPace(() => 0) } as unknown as Catalog;
      const { listEvents } = createWatchRunCalls(catalog);
      return {
        say: () => sayOnce(catalog, `${said++}`, { accountId, hubId: 'h', type: 'query.mended', data: {} }),
        read: async () => {
          const ctx = createCallContext({ timeoutMs: 60_000, principal: principalOf(accountId) });
          const { events } = await listEvents({ ...asked, after: seen.at(-1) ?? '' }, ctx);
          seen.push(...events.map(({ eventId }) => eventId));
        },
      };
    },
    close: () => store.close(),
  };
}

export function describeEventClock(name: string, open: () => Promise<CatalogStore>): void {
  describe(`a reader of events on ${name} that continues`, () => {
    let at: Awaited<ReturnType<typeof openReader>>;
    beforeEach(async () => {
      at = await openReader(open);
    });
    afterEach(() => at.close());

    it('sees each event two seconds after it happened, though the clock is set back', async () => {
      const hub = at.start();
      await hub.say();
      at.wait(2_000);
      await hub.read();
      for (const backMs of [5_000, 10_000, 3_600_000, 86_400_000]) {
        at.setBack(backMs);
        const before = at.seen.length;
        await hub.say();
        at.wait(1_900);
        await hub.read();
        expect(at.seen).toHaveLength(before);
        at.wait(100);
        await hub.read();
        expect(at.seen).toHaveLength(before + 1);
      }
      expect(at.seen).toEqual(await at.stored());
    });

    it('sees each event after the hub started again with the clock set back', async () => {
      const before = at.start();
      await before.say();
      at.wait(2_000);
      await before.read();
      at.setBack(3_600_000);
      const after = at.start();
      await after.say();
      for (let i = 0; i < 3; i++) {
        await after.read();
        at.wait(2_000);
      }
      expect(at.seen).toEqual(await at.stored());
      expect(at.seen).toHaveLength(2);
    });

    it('sees each event of replicas with clocks that differ, whichever it asks', async () => {
      const replicas = [at.start(), at.start(-5_000), at.start(7_000)];
      for (let round = 0; round < 4; round++) {
        for (const one of replicas) {
          await one.say();
          for (const other of replicas) await other.read();
          at.wait(700);
        }
      }
      at.wait(5_000);
      for (let i = 0; i < 2; i++) await replicas[0]?.read();
      expect(at.seen).toEqual(await at.stored());
      expect(at.seen).toHaveLength(12);
    });
  });
}
