import type { WatchRequest, WatchResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { expect, test, vi } from 'vitest';
import { watchCatalog } from '../../src/definitions/catalog-watch.ts';

/** A catalog replica that sends what it is given, and keeps what it hears. */
function fakeReplica(rounds: WatchResponse[][]) {
  const heard: WatchRequest[] = [];
  let opened = 0;
  return {
    heard,
    get opened() {
      return opened;
    },
    watch: async function* (requests: AsyncIterable<WatchRequest>): AsyncIterable<WatchResponse> {
      const round = rounds[opened++];
      const incoming = requests[Symbol.asyncIterator]();
      const hear = async () => {
        const { value, done } = await incoming.next();
        if (!done) heard.push(value);
        return !done;
      };
      await hear();
      for (const response of round ?? []) {
        yield response;
        if (response.sequence > 0) await hear();
      }
      if (round === undefined) while (await hear());
      else throw new Error('lost');
    },
  };
}
const change = (sequence: number, ...changed: string[]): WatchResponse => ({
  sequence,
  instanceId: 'c',
  changed,
  deleted: false,
});

test('invalidates, acknowledges, and reconnects after a loss', async () => {
  const replica = fakeReplica([
    [change(0), change(1, 'q1'), change(2, 'q2', 's1')],
    [change(0), { ...change(7, 'h1'), deleted: true }],
  ]);
  const invalidate = vi.fn();
  const onDeleted = vi.fn();
  const onLost = vi.fn();
  const listeners = { invalidate, onDeleted, onLost };
  const watch = watchCatalog({ catalog: replica, instanceId: 'e', ...listeners, random: () => 0 });
  await vi.waitFor(() => expect(replica.opened).toBe(3), 60_000);
  expect(onDeleted.mock.calls).toEqual([[['h1']]]);
  expect(invalidate.mock.calls).toEqual([[['q1']], [['q2', 's1']], [['h1']]]);
  expect(replica.heard.map(({ acknowledged }) => acknowledged)).toEqual([0, 1, 2, 0, 7, 0]);
  expect(replica.heard.every(({ instanceId }) => instanceId === 'e')).toBe(true);
  expect(onLost).toHaveBeenCalledTimes(2);
  await watch.close();
  await watch.close();
  expect(onLost).toHaveBeenCalledTimes(2);
});
