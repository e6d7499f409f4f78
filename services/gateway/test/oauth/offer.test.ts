import { expect, it } from 'vitest';
import { createReadOffer } from '../../src/oauth/offer.ts';

it('reads the tools of few pages at a time, of an account one after the other', async () => {
  let reading: string[] = [];
  const most: string[][] = [];
  const catalog = {
    listTools: async (_: object, { principal }: { principal: { accountId: string } }) => {
      reading.push(principal.accountId);
      most.push(reading);
      await new Promise((resolve) => setTimeout(resolve, 2));
      reading = reading.toSpliced(reading.indexOf(principal.accountId), 1);
      return { queries: [] };
    },
  };
  const read = createReadOffer({ catalog, ml: {} } as never);
  const offers = ['a', 'a', 'a', 'b', 'a', 'c'].map((accountId) =>
    read({ principal: { accountId, scopes: [] }, signal: new AbortController().signal } as never, []),
  );
  expect(await Promise.all(offers)).toHaveLength(6);
  expect(most).toHaveLength(6);
  expect(Math.max(...most.map((one) => one.length))).toBe(2);
  expect(most.every((one) => new Set(one).size === one.length)).toBe(true);
  const many = Array.from({ length: 60 }, () =>
    read({ principal: { accountId: 'a', scopes: [] }, signal: new AbortController().signal } as never, []),
  );
  const results = await Promise.allSettled(many);
  const refused = results.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(9);
  expect(refused[0]?.reason).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
});
