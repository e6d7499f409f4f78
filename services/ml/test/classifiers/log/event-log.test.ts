import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readEvents } from '../../../src/classifiers/log/event-log.ts';
import { type EventDoc, eventIdOf } from '../../../src/documents.ts';
import { type MlStore, openMlStore } from '../../../src/store.ts';

const classifier = { accountId: 'account', classifierId: 'classifier' };
let store: MlStore;

beforeEach(async () => {
  store = await openMlStore('sqlite::memory:', randomUUID);
});
afterEach(() => store.close());

async function append(number: number, characters: number | undefined): Promise<void> {
  const event: EventDoc = {
    id: eventIdOf(classifier.classifierId, number),
    accountId: classifier.accountId,
    version: 1,
    at: number,
    calls: [{ eventId: `${number}`, examples: [{ classId: 'c', text: 'x' }] }],
    ...(characters === undefined ? {} : { characters }),
  };
  await store.events.insert(event);
}

async function read(applied: number) {
  const pages: string[][] = [];
  for await (const events of readEvents(store, classifier, applied)) pages.push(events.map(({ id }) => id));
  return pages;
}

it('reads every event once and in order, in pages of bounded size', async () => {
  const sizes = [...Array.from({ length: 500 }, () => 10), 3e6, 3e6, 8e6, 10, 8e6, 10, 10];
  for (const [i, size] of sizes.entries()) await append(i + 1, size);
  const pages = await read(0);
  expect(pages.flat()).toEqual(sizes.map((_, i) => eventIdOf('classifier', i + 1)));
  for (const page of pages.filter(({ length }) => length > 1)) {
    const characters = page.reduce((sum, id) => sum + (sizes[Number(id.split('/')[1]) - 1] as number), 0);
    expect(characters).toBeLessThanOrEqual(4e6);
  }
  expect(await read(sizes.length - 1)).toEqual([[eventIdOf('classifier', sizes.length)]]);
  expect((await read(sizes.length)).flat()).toEqual([]);
});

it('reads events of unknown size one by one', async () => {
  for (let i = 1; i <= 12; i++) await append(i, undefined);
  const pages = await read(0);
  expect(pages.map(({ length }) => length)).toEqual(Array(12).fill(1));
});

it('reads a large event only when another one of the account is no longer used', async () => {
  for (let i = 1; i <= 30; i++) await append(i, i === 2 || i === 20 ? 8e6 : 10);
  const order: string[] = [];
  const readAs = async (reader: string, applied: number) => {
    for await (const events of readEvents(store, classifier, applied)) {
      if (!events.some(({ characters = 0 }) => characters === 8e6)) continue;
      order.push(`${reader} begins`);
      await new Promise((resolve) => setTimeout(resolve, 10));
      order.push(`${reader} ends`);
      break;
    }
  };
  await Promise.all([readAs('a', 0), readAs('b', 3), readAs('c', 1)]);
  expect(order.filter((_, i) => i % 2 === 0).map((said) => said.replace('begins', 'ends'))).toEqual(
    order.filter((_, i) => i % 2 === 1),
  );
  expect(order).toHaveLength(6);
});
