import type { EndTickRequest, TakenTick } from '@datahub/proto/catalog/v1/watches';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { LargeRuns } from '../../src/watches/run-memory.ts';
import { runTick, type TickDeps } from '../../src/watches/run-tick.ts';

const tick = {
  ...{ watchId: 'w', runId: 'r', lease: 'l', leaseMs: 15, queryVersion: 1, writes: true },
  principal: { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined },
  settings: { queryId: 'q', contextJson: '', when: 'always', by: [], include: [] },
} as unknown as TakenTick;

it('goes on with a run, and says how it ended, while the store does not say whether it wrote', async () => {
  const ended: EndTickRequest[] = [];
  const ran: unknown[] = [];
  let beats = 0;
  const catalog = {
    keepTick: async () => {
      beats++;
      throw outcomeUnknown(undefined);
    },
    endTick: async (request: EndTickRequest) => {
      ended.push(request);
      if (ended.length === 1) throw outcomeUnknown(undefined);
    },
  };
  const executor = {
    execute: async (_request: object, { signal }: { signal: CallStop }) => {
      await expect.poll(() => beats, { interval: 5 }).toBeGreaterThan(2);
      if (signal.aborted) throw signal.reason;
    },
  };
  const onFailure = () => {};
  const deps = {
    upstreams: { catalog, executor },
    closing: new CallStop(),
    largeRuns: new LargeRuns(),
    usage: { ran: (...one: unknown[]) => void ran.push(one) },
    onFailure,
  };
  await runTick(tick, deps as unknown as TickDeps);
  expect(ended.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
  expect(ran).toEqual([[tick.principal, 'q']]);
});

it.each([
  [false, 'skipped'],
  [true, 'unknown'],
])(
  'is skipped if the watch is paused meanwhile, unless it may have written (writes: %s)',
  async (writes, outcome) => {
    const ended: EndTickRequest[] = [];
    const catalog = {
      keepTick: async () => {
        throw new HubError('CANCELLED', 'The watch was deleted or paused.');
      },
      endTick: async (request: EndTickRequest) => void ended.push(request),
    };
    const executor = {
      execute: async (_request: object, { signal }: { signal: CallStop }) => {
        await expect.poll(() => signal.aborted, { interval: 5 }).toBe(true);
        throw signal.reason;
      },
    };
    const deps = {
      upstreams: { catalog, executor },
      closing: new CallStop(),
      largeRuns: new LargeRuns(),
      usage: { ran: () => {} },
      onFailure: () => {},
    };
    await runTick({ ...tick, writes }, deps as unknown as TickDeps);
    expect(ended).toMatchObject([{ outcome, code: 'CANCELLED' }]);
  },
);
