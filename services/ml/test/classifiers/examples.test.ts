import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { readExamples, toPlace } from '../../src/classifiers/examples.ts';
import { eventIdOf } from '../../src/documents.ts';
import { openMlStore } from '../../src/store.ts';

const accountId = 'account';
const classifierId = 'dh.clfr.0123456789abcdef';

it('reads at most 20,000 examples for a page, and no more once all are found', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  const insert = (number: number, examples: { classId: string; text: string }[]) =>
    store.events.insert({
      ...{ id: eventIdOf(classifierId, number), accountId, version: 1, at: 1, characters: 1_000 },
      calls: [{ eventId: `${number}`, examples }],
    });
  await insert(1, [{ classId: 'early', text: 'first' }]);
  for (let number = 2; number < 84; number++)
    await insert(
      number,
      Array.from({ length: 500 }, () => ({ classId: 'often', text: 'again' })),
    );
  await insert(84, [{ classId: 'late', text: 'last' }]);

  const pagesOf = async (wanted: string, total: number) => {
    const pages: string[][] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page = await readExamples(
        store,
        { accountId, classifierId },
        {
          after: next === '' ? undefined : toPlace(next, classifierId),
          limit: 10,
          isListed: ({ classId }) => classId === wanted,
          isWhole: (listed) => listed === total,
        },
      );
      pages.push(page.examples.map(({ text }) => text));
      next = page.next;
    }
    return pages;
  };
  expect(await pagesOf('late', 1)).toEqual([[], [], ['last']]);
  expect(await pagesOf('early', 1)).toEqual([['first']]);
  await store.close();
});

it('lets other calls run while it reads the examples for a page', async () => {
  const store = await openMlStore('sqlite::memory:', randomUUID);
  await store.events.insert({
    ...{ id: eventIdOf(classifierId, 1), accountId, version: 1, at: 1, characters: 1_000 },
    calls: [{ eventId: '1', examples: Array.from({ length: 1_000 }, () => ({ classId: 'a', text: 'b' })) }],
  });
  let turn = 0;
  const count = setInterval(() => turn++, 0);
  const seen = new Set<number>();
  const isListed = () => {
    const until = performance.now() + 0.25;
    while (performance.now() < until);
    seen.add(turn);
    return false;
  };
  const page = { after: undefined, limit: 10, isListed, isWhole: () => false };
  await readExamples(store, { accountId, classifierId }, page);
  clearInterval(count);
  // They take 250 ms, and each of these turns 2 ms or the time of 16 examples.
  expect(seen.size).toBeGreaterThan(10);
  await store.close();
});
