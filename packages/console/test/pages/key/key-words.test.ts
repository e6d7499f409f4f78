import { expect, it } from 'vitest';
import type { Key } from '../../../src/api/types.ts';
import { limitWords, validWords } from '../../../src/pages/key/key-words.ts';
import { emptyKey } from '../../../src/state/key-form.ts';

const names = { hub: (id: string) => `the ${id}`, query: (id: string) => `Query ${id}` };

it.each([
  [{}, []],
  [{ strict: true }, ['no unknown variables']],
  [{ queries: ['shop a'], maxRows: 1 }, ['query shop a', '1 row a response']],
  [{ hubIds: ['shop'], queryIds: ['1', '2'] }, ['hub the shop', 'queries Query 1, Query 2']],
  [
    { user: { issuer: 'https://id.example', audience: 'a', claims: {}, ratePerMinute: 60, public: ['1'] } },
    [
      'signed-in users of https://id.example',
      'query Query 1 without their claims',
      '60 requests a minute for each of them',
    ],
  ],
])('names each limit of a key: %j', (limits, words) => {
  expect(limitWords({ limits } as unknown as Key, names)).toEqual(words);
});

it('says of a new key where it is valid, which need not be the hub of the page', () => {
  expect(validWords(emptyKey('shop'), names)).toBe('Valid in the shop, within its limits.');
  expect(validWords(emptyKey(''), names)).toBe('Valid for all hubs, within its limits.');
  const ofQueries = { ...emptyKey(''), queryIds: ['1', '2'] };
  expect(validWords(ofQueries, names)).toBe('Valid for 2 queries, within its limits.');
});
