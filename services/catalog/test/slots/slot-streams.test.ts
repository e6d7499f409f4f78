import { PassThrough } from 'node:stream';
import type { LeaseSlotsRequest, LeaseSlotsResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { soleOwner } from '../../src/slots/slot-owner.ts';
import { openSlotStreams, type SlotStreams } from '../../src/slots/slot-streams.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  // First, because the timer that it restores is the fake one.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const leaseMs = 60_000;
const claim = { sourceId: 's', accountId: 'a', max: 2, servers: [], held: 0, returned: 0, wanted: 0 };

/** An executor that beats, and what it is told. */
function connect(streams: SlotStreams, instanceId: string) {
  const requests = new PassThrough({ objectMode: true });
  const told: LeaseSlotsResponse['changes'] = [];
  const tell = (request: Partial<LeaseSlotsRequest>) =>
    void requests.write({ instanceId, sources: [], leaving: false, ownerless: false, ...request });
  const read = async () => {
    for await (const { epoch, changes } of streams.lease(requests, new CallStop())) {
      if (changes.length === 0) tell({ epoch });
      told.push(...changes);
    }
  };
  void read();
  setInterval(() => tell({}), 2_000);
  return { told, tell, end: () => requests.end() };
}

const open = () =>
  openSlotStreams({
    leaseMs,
    servers: new Map(),
    now: () => performance.now(),
    hasEnded: () => false,
    onFailure: (err) => expect.unreachable(String(err)),
    openOwner: async () => soleOwner,
  });

it('grants no more slots than a source can have, whatever an executor asks for', async () => {
  const streams = await open();
  const one = connect(streams, 'one');
  await vi.advanceTimersByTimeAsync(10);
  const most = 4_294_967_295;
  one.tell({ epoch: 1, sources: [{ ...claim, max: most, wanted: most, held: 3 }] });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(one.told.reduce((sum, { granted }) => sum + granted, 0)).toBe(97);
  one.end();
  await streams.close();
});

it('rests while nobody waits, and takes a slot back for one that waits then as soon as ever', async () => {
  const streams = await open();
  const [one, other] = [connect(streams, 'one'), connect(streams, 'other')];
  await vi.advanceTimersByTimeAsync(10);
  one.tell({ sources: [{ ...claim, wanted: 2 }] });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(one.told.reduce((sum, { granted }) => sum + granted, 0)).toBe(2);

  const timers = vi.spyOn(globalThis, 'setTimeout');
  await vi.advanceTimersByTimeAsync(leaseMs);
  expect(timers.mock.calls.length).toBeLessThanOrEqual(31);

  other.tell({ sources: [{ ...claim, wanted: 1 }] });
  await vi.advanceTimersByTimeAsync(800);
  expect(one.told.reduce((sum, { recalled }) => sum + recalled, 0)).toBe(1);
  one.tell({ sources: [{ ...claim, returned: 1 }] });
  await vi.advanceTimersByTimeAsync(50);
  expect(other.told.reduce((sum, { granted }) => sum + granted, 0)).toBe(1);
  for (const { end } of [one, other]) end();
  await streams.close();
});
