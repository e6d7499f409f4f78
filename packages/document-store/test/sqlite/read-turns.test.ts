import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuMs, longestTurn } from '../../../../tests/support/timing/longest-turn.ts';
import type { Collection, Doc, DocumentStore } from '../../src/index.ts';
import { openSqliteStore } from '../../src/sqlite/store.ts';

interface Text extends Doc {
  label: string;
  text: string;
  dueAt: number;
}

const accountId = 'a';
const many = 250;
const idOf = (i: number) => `dh.q.${String(i).padStart(4, '0')}`;
const ids = Array.from({ length: many }, (_, i) => idOf(i));
/** Its quotes make it long to parse. */
const text = '"a" '.repeat(40_000);

let store: DocumentStore;
let texts: Collection<Text>;
/** What all documents take in one piece, in ms. */
let wholeMs = 0;

beforeAll(async () => {
  store = openSqliteStore(':memory:', [
    { name: 'texts', summary: { fields: ['label'] }, due: 'dueAt', indexes: ['label'] },
  ]);
  texts = store.collection('texts');
  for (const [i, id] of ids.entries())
    await texts.insert({ id, accountId, version: 1, label: 'l', text, dueAt: i });
  const body = JSON.stringify({ text });
  const startedAt = cpuMs();
  for (let i = 0; i < many; i++) JSON.parse(body);
  wholeMs = cpuMs() - startedAt;
});
afterAll(() => store.close());

const idsOf = (docs: { id: string }[]) => docs.map(({ id }) => id);

describe('large documents', () => {
  const one = async (id: string) => (await texts.get(accountId, id)) as Text;
  const oneByOne = async () => {
    const found: Text[] = [];
    for (const id of ids) found.push(await one(id));
    return found;
  };

  it.each<[string, () => Promise<{ id: string }[]>]>([
    ['asked for at once', () => Promise.all(ids.map(one))],
    ['asked for one after the other', oneByOne],
    ['of a page', () => texts.find({ accountId, limit: many + 1 })],
    ['of a page by a field', () => texts.find({ accountId, where: { label: 'l' }, limit: many })],
    [
      'of a page in descending order, behind an offset',
      async () => [
        ...(await texts.find({ accountId, descending: true, offset: 3, limit: many })).toReversed(),
        ...(await texts.find({ accountId, afterId: idOf(many - 4), limit: 3 })),
      ],
    ],
    ['of all accounts', () => texts.scan({ limit: many + 1 })],
  ])('%s are read in several turns', async (_, read) => {
    let found: string[] = [];
    const longest = await longestTurn(async () => {
      found = idsOf(await read());
    });
    expect(found).toEqual(ids);
    expect(longest).toBeLessThan(Math.max(wholeMs / 2, 60));
  });

  it('that are due are found in portions', async () => {
    const { found, isAll } = await texts.findDue(many, many);
    expect(isAll).toBe(false);
    expect(idsOf(found)).toEqual(ids.slice(0, found.length));
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThan(many / 4);
  });

  it('are those that are there when a later turn reads the rest of a page', async () => {
    const reading = texts.find({ accountId, limit: many });
    await texts.delete(accountId, idOf(many - 1));
    await texts.insert({ id: `${idOf(many - 1)}a`, accountId, version: 1, label: 'l', text, dueAt: many });
    expect(idsOf(await reading)).toEqual([...ids.slice(0, -1), `${idOf(many - 1)}a`]);
  });
});
