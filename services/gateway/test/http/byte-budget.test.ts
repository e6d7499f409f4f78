import type { ServerResponse } from 'node:http';
import { Deadlines } from '@datahub/service-kit/call/call';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { ByteBudget, type ByteBudgetOptions } from '../../src/http/byte-budget.ts';
import { RequestContext } from '../../src/http/request-context.ts';

const exceeded = { key: 'much for a key', account: 'much for an account', all: 'much for all' };
const createBudget = (options: Partial<ByteBudgetOptions> = {}) =>
  new ByteBudget({ bytesMax: 400, keyBytesMax: 400, smallBytesMax: 10, exceeded, ...options });

function requestOf({ accountId = 'a', keyId = 'k', closed = false } = {}): FastifyRequest {
  const request = { id: 'r', headers: {}, raw: { headers: {} } } as FastifyRequest;
  const options = {
    timeoutMs: 1_000,
    transferMs: 1_000,
    deadlines: new Deadlines(),
    requireCaller: async () => {},
  };
  request.context = new RequestContext(request, { closed } as ServerResponse, options);
  request.context.principal = { accountId, keyId, scopes: [], limits: undefined };
  return request;
}

/** How many requests of so many bytes there is room for. */
function countOf(budget: ByteBudget, of: Parameters<typeof requestOf>[0], bytes: number): number {
  for (let count = 0; ; count++) {
    try {
      budget.reserve(requestOf({ keyId: `${of?.accountId}${count}`, ...of }), 0, bytes);
    } catch {
      return count;
    }
  }
}

it('counts nothing for a client that has left', () => {
  const budget = createBudget({ keyBytesMax: 100 });
  expect(() => budget.reserve(requestOf({ closed: true }), 0, 60)).toThrow('The client disconnected.');
  budget.reserve(requestOf(), 0, 60);
  expect(() => budget.reserve(requestOf(), 0, 60)).toThrow('much for a key');
});

it('leaves room for every other account, whatever one of them holds', () => {
  const budget = createBudget();
  expect(countOf(budget, { accountId: 'a' }, 30)).toBe(5);
  expect(countOf(budget, { accountId: 'b' }, 30)).toBe(3);
  expect(countOf(budget, { accountId: 'c' }, 30)).toBe(1);
  expect(() => budget.reserve(requestOf({ accountId: 'a' }), 0, 30)).toThrow('much for an account');
  expect(() => budget.reserve(requestOf({ accountId: 'd' }), 0, 60)).toThrow('much for all');
});

it('leaves room for small ones of each account, and gives what large ones leave to them', () => {
  const budget = createBudget();
  const alone = countOf(budget, { accountId: 'a' }, 10);
  expect(alone).toBe(5 + 15);
  expect(countOf(budget, { accountId: 'b' }, 10)).toBeGreaterThanOrEqual(8);
  expect(countOf(budget, { accountId: 'c' }, 10)).toBeGreaterThanOrEqual(4);
});

it('leaves room for small ones of a key that holds all it may', () => {
  const budget = createBudget({ keyBytesMax: 90 });
  budget.reserve(requestOf(), 0, 90);
  expect(() => budget.reserve(requestOf(), 0, 11)).toThrow('much for a key');
  budget.reserve(requestOf(), 0, 10);
});

it('lets one request alone grow to what fits, and takes all of it back', () => {
  const budget = createBudget();
  for (let round = 0; round < 3; round++) {
    const request = requestOf();
    for (let held = 0; held < 300; held += 5) budget.reserve(request, held, 5);
    expect(() => budget.reserve(request, 300, 5)).toThrow('much for all');
    budget.release(request, 300);
  }
  expect(countOf(budget, { accountId: 'b' }, 30)).toBe(5);
});
