import { expect, it } from 'vitest';
import { FoundRows } from '../../src/watches/found-rows.ts';

it('compares many rows in turns', async () => {
  const count = 40_000;
  const settings = { when: 'gone', by: ['id'], include: ['id'], condition: undefined };
  const read = (before: ConstructorParameters<typeof FoundRows>[1], from: number) => {
    const found = new FoundRows(settings, before);
    for (let i = 0; i < count; i++) found.add({ number: i + 1, values: new Map([['id', String(from + i)]]) });
    return found;
  };
  let turns = 0;
  let isOver = false;
  const look = (): void => {
    turns++;
    if (!isOver) setImmediate(look);
  };
  const first = read(undefined, 0);
  setImmediate(look);
  const { snapshot } = await first.finish();
  expect(turns).toBeGreaterThan(2);
  isOver = true;
  const { changes, snapshot: next, toldNdjson } = await read(snapshot, 36_000).finish();
  expect(changes).toEqual({ new: 36_000, changed: 0, gone: 36_000 });
  expect(next?.rows.length).toBe(count * 32);
  expect(toldNdjson.toString().split('\n').slice(0, 2)).toEqual(['{"id":0}', '{"id":1}']);
  expect((await read(next, 36_000).finish()).snapshot).toBeUndefined();
});
