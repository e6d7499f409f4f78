import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { expect, it } from 'vitest';
import { type CallContext, type Calls, createCallContext } from '../../src/call/call.ts';
import { inTurns } from '../../src/call/turns.ts';

type CatalogCalls = Calls<typeof CatalogServiceService>;

const contextOf = (accountId: string): CallContext =>
  createCallContext({ timeoutMs: 60_000, principal: { accountId } as CallContext['principal'] & object });
const compute = (ms: number) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

/** The iterations of the event loop until the work has ended. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work;
  clearImmediate(next);
  return turns;
}

function wrapped(ms: number) {
  const order: string[] = [];
  const getHub = async (_request: unknown, { principal }: CallContext) => {
    order.push(principal?.accountId ?? '');
    compute(ms);
    return {};
  };
  const calls = inTurns(CatalogServiceService, { getHub } as unknown as CatalogCalls);
  return { order, call: (accountId: string) => calls.getHub({ hubId: 'h' }, contextOf(accountId)) };
}
const many = (count: number, call: () => Promise<unknown>) => Array.from({ length: count }, call);

it('calls that compute long start in several turns, and the accounts take turns', async () => {
  const { order, call } = wrapped(5);
  const all = [...many(40, () => call('a')), ...many(2, () => call('b'))];
  expect(await turnsOf(Promise.all(all))).toBeGreaterThan(10);
  expect(order.filter((one) => one === 'a')).toHaveLength(40);
  expect(order.lastIndexOf('b')).toBeLessThan(8);
});

it('a call that comes alone starts at once, and short ones in few turns', async () => {
  const { order, call } = wrapped(0);
  void call('a');
  expect(order).toEqual(['a']);
  await Promise.all(many(1_000, () => call('a')));
  expect(order).toHaveLength(1_001);
});
