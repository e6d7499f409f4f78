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

const settings = { when: 'changed', by: ['id'], include: ['v'], condition: undefined };
const rowOf = (number: number, values: object) => ({
  number,
  values: new Map(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)])),
});

it('takes a member that some documents lack for NULL', async () => {
  const read = async (rows: object[], before?: ConstructorParameters<typeof FoundRows>[1]) => {
    const found = new FoundRows(settings, before);
    for (const [i, row] of rows.entries()) found.add(rowOf(i + 1, row));
    return found.finish();
  };
  const { snapshot } = await read([{ id: 1 }, { id: 2, v: 'a' }]);
  const { changes, toldNdjson } = await read([{ id: 1, v: 'b' }, { id: 2 }], snapshot);
  expect(changes).toEqual({ new: 0, changed: 2, gone: 0 });
  expect(toldNdjson.toString()).toBe('{"v":"b"}\n{"v":null}\n');
});

it.each([
  ['that no row has', [{ id: 1 }, { id: 2 }]],
  ['that no row has, of those that tell rows apart', [{ v: 1 }, { v: 1 }]],
])('names a column %s', async (_name, rows) => {
  const read = async () => {
    const found = new FoundRows(settings, undefined);
    for (const [i, row] of rows.entries()) found.add(rowOf(i + 1, row));
    await found.finish();
  };
  await expect(read()).rejects.toThrow(/^The rows have no column (v|id)\.$/);
});
