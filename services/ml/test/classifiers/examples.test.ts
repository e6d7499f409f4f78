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
