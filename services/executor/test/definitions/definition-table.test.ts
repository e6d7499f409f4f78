import { expect, it } from 'vitest';
import { cpuMs } from '../../../../tests/support/timing/longest-turn.ts';
import { charactersOfQuery, type QueryDefinition } from '../../src/definitions/definition.ts';
import { DefinitionTable } from '../../src/definitions/definition-cache.ts';

const definition = (queryId: string, change: Partial<QueryDefinition> = {}) => {
  const made = {
    queryId,
    accountId: 'a',
    hubId: 'h',
    text: 'x'.repeat(1_000),
    variables: [],
    version: 1,
    source: { sourceId: `s.${queryId}`, version: 1, engine: 'postgres' },
    ...change,
  };
  const asked = { query: made.text, context: made.variables } as never;
  const characters = charactersOfQuery(asked, made.source.engine as 'postgres');
  return { ...made, characters } as unknown as QueryDefinition;
};

function setup(charactersMax: number) {
  const table = new DefinitionTable({
    cachedMax: 100,
    charactersMax,
    staleMaxMs: 1_000,
    resolveTimeoutMs: 1_000,
    now: () => 0,
  });
  const put = (...definitions: QueryDefinition[]) => {
    for (const one of definitions)
      table.put(one, { sentAt: 0, generation: table.generation, leaseMs: 1_000 });
  };
  const names = () => ['1', '2', '3', '4'].filter((queryId) => table.get(queryId, 'a') !== undefined);
  return { table, put, names };
}

it('caches as much text as there is room for, and evicts the least recently used', () => {
  const { put, names } = setup(3_400);
  put(definition('1'), definition('2'), definition('3'));
  expect(names()).toEqual(['1', '2', '3']);
  put(definition('1'), definition('4'));
  expect(names()).toEqual(['1', '3', '4']);
  const variables = [{ key: 'v', valueJson: 'x'.repeat(900), enumJson: 'x'.repeat(900), description: 'x' }];
  put(definition('2', { variables: variables as never }));
  expect(names()).toEqual(['2']);
});

it('holds the newest whatever its length is, and counts nothing twice', () => {
  const { table, put, names } = setup(3_400);
  put(definition('1'), definition('2', { text: 'x'.repeat(10_000) }));
  expect(names()).toEqual(['2']);
  for (let version = 1; version < 10; version++) put(definition('1', { version }));
  put(definition('3'), definition('4'));
  expect(names()).toEqual(['1', '3', '4']);
  table.invalidate(['3']);
  const four = table.get('4', 'a');
  if (four !== undefined) table.drop(four);
  expect(names()).toEqual(['1']);
  put(definition('2'), definition('4'));
  expect(names()).toEqual(['1', '2', '4']);
});

it('counts the places of variables, which take more memory than text', () => {
  const { put, names } = setup(60_000);
  const places = { text: `select ${':v,'.repeat(100)} {{w}}` };
  put(definition('1'), definition('2', places), definition('3', places), definition('4'));
  expect(names()).toEqual(['1', '2', '3', '4']);
  put(definition('1', { ...places, version: 2 }));
  expect(names()).toEqual(['1', '3', '4']);
});

it.each([
  ['defaults', { variables: [{ key: 'v', valueJson: `[${'{},'.repeat(99)}{}]` }] as never }],
  ['allowed values', { variables: [{ key: 'v', enumJson: `[${'1,'.repeat(99)}1]` }] as never }],
  [
    'commands',
    {
      text: `{"find":[${'{},'.repeat(99)}{}]}`,
      source: { sourceId: 's', version: 1, engine: 'mongodb' } as never,
    },
  ],
])('counts the values of %s, which take more memory than their text', (_, values) => {
  const { put, names } = setup(18_000);
  put(definition('1'), definition('2', values), definition('3', values));
  expect(names()).toEqual(['1', '2', '3']);
  put(definition('4', values));
  expect(names()).toEqual(['3', '4']);
});

it('counts a source once, however many queries it has, and keeps one copy of it', () => {
  const { table, put, names } = setup(3_400);
  const source = (sourceId: string) =>
    ({ sourceId, version: 1, tls: { ca: 'x'.repeat(900), cert: 'x'.repeat(900) } }) as never;
  const short = (queryId: string, sourceId: string) =>
    definition(queryId, { text: 'x', source: source(sourceId) });
  put(short('1', 's'), short('2', 's'), short('3', 's'));
  expect(names()).toEqual(['1', '2', '3']);
  const [one, two] = ['1', '2'].map((queryId) => table.get(queryId, 'a')?.definition.source);
  expect(one).toBe(two);
  put(short('4', 't'));
  expect(names()).toEqual(['4']);
  put(short('4', 't'), definition('1'));
  expect(names()).toEqual(['1', '4']);
});

it('drops what depends on a change, without looking at all other definitions', () => {
  const table = new DefinitionTable({
    ...{ cachedMax: 10_000, staleMaxMs: 1_000, resolveTimeoutMs: 1_000 },
    now: () => 0,
  });
  const begunAt = cpuMs();
  for (let i = 0; i < 10_000; i++)
    table.put(definition(String(i)), { sentAt: 0, generation: 0, leaseMs: 1_000 });
  const filledAt = cpuMs();
  for (let i = 0; i < 300; i++) table.invalidate([`none${i}`]);
  expect(cpuMs() - filledAt).toBeLessThan(filledAt - begunAt);
  table.invalidate(['1', 's.2']);
  expect(['1', '2', '3'].map((id) => table.get(id, 'a') !== undefined)).toEqual([false, false, true]);
  table.invalidate(['h']);
  expect(table.size).toBe(0);
});
