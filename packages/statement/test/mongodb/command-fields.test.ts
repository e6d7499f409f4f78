import { describe, expect, it } from 'vitest';
import { compileCommand, verbOf } from '../../src/mongodb/command.ts';
import { bind } from '../command-fixture.ts';

const x = '$secret';
const literal = { $literal: x };
const run = (command: object) => bind(command, { x, n: 3 });
const rejected = (message: string) =>
  expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false });

/** What the query alone says; what takes a value; the operands of an expression. */
type Kind = 'fixed' | 'value' | 'members' | 'expressions' | 'filter' | 'list';

const commands: [object, string, Record<string, Kind>][] = [
  [
    { find: 'o' },
    'SELECT',
    {
      filter: 'filter',
      projection: 'expressions',
      sort: 'members',
      skip: 'value',
      limit: 'value',
      hint: 'fixed',
      min: 'members',
      max: 'members',
      collation: 'fixed',
      let: 'expressions',
      allowDiskUse: 'fixed',
    },
  ],
  [
    { aggregate: 'o', pipeline: [] },
    'SELECT',
    { pipeline: 'list', hint: 'fixed', collation: 'fixed', let: 'expressions', allowDiskUse: 'fixed' },
  ],
  [
    { count: 'o' },
    'SELECT',
    { query: 'filter', skip: 'value', limit: 'value', hint: 'fixed', collation: 'fixed' },
  ],
  [
    { distinct: 'o', key: 'a' },
    'SELECT',
    { key: 'fixed', query: 'filter', hint: 'fixed', collation: 'fixed' },
  ],
  [{ insert: 'o', documents: [] }, 'INSERT', { documents: 'value', ordered: 'fixed' }],
  [{ update: 'o', updates: [] }, 'UPDATE', { updates: 'list', ordered: 'fixed', let: 'expressions' }],
  [{ delete: 'o', deletes: [] }, 'DELETE', { deletes: 'list', ordered: 'fixed', let: 'expressions' }],
];

const good: Record<Kind, [unknown, unknown][]> = {
  fixed: [
    ['a_1', 'a_1'],
    [
      { a: 1, b: [true, null] },
      { a: 1, b: [true, null] },
    ],
  ],
  value: [
    [':x', x],
    [[{ a: ':x' }], [{ a: x }]],
  ],
  members: [[{ a: ':x' }, { a: x }]],
  expressions: [
    [
      { a: ':x', b: ['$own', ':x'] },
      { a: literal, b: ['$own', literal] },
    ],
  ],
  filter: [
    [
      { a: ':x', $expr: ':x' },
      { a: x, $expr: literal },
    ],
  ],
  list: [[[], []]],
};

const ofAValue = 'is the variable :x, but only a constant can stand here.';
const ofTheQuery = 'is the variable :x, but must be a constant of the query.';
const refusals: Record<Kind, string | undefined> = {
  fixed: ofTheQuery,
  value: undefined,
  members: ofAValue,
  expressions: ofAValue,
  filter: 'must be an object .a filter., and cannot be a variable.',
  list: 'and cannot be a variable.',
};

describe.each(commands)('%j', (command, verb, fields) => {
  const [name = ''] = Object.keys(command);

  it.each(Object.entries(fields))('passes %s on', (field, kind) => {
    for (const [said, written] of good[kind]) {
      expect(run({ ...command, [field]: said })).toEqual({ ...command, [field]: written });
    }
    const refusal = refusals[kind];
    if (refusal === undefined) return;
    expect(() => run({ ...command, [field]: ':x' })).toThrow(new RegExp(`^/${field} .*${refusal}$`));
    if (kind !== 'fixed') return;
    expect(() => run({ ...command, [field]: [{ a: ':x' }] })).toThrow(
      rejected(`/${field}/0/a ${ofTheQuery}`),
    );
  });

  it.each([
    ...['$db', 'maxTimeMS', 'comment', 'readConcern', 'writeConcern', 'readPreference', 'lsid', 'txnNumber'],
    ...['tailable', 'batchSize', 'singleBatch', 'cursor', 'explain', 'bypassDocumentValidation', 'returnKey'],
    ...['$where', 'out', 'toString', 'hasOwnProperty', '__proto__', 'constructor', '', 'a/b'],
  ])('passes no %j on', (field) => {
    const members = Object.keys(fields).join(', ');
    const pointer = `/${field.replace('/', '~1')}`;
    const text = `${JSON.stringify(command).slice(0, -1)}, ${JSON.stringify(field)}: 1}`;
    expect(() => run(JSON.parse(text))).toThrow(
      rejected(`${pointer} is not an allowed field of ${name}. Allowed fields: ${members}.`),
    );
  });

  it('runs in a collection that the query names', () => {
    for (const good of ['a', 'a.b', ' ', 'ä', 'system.views', 'x'.repeat(255)]) {
      expect(run({ ...command, [name]: good })).toEqual({ ...command, [name]: good });
    }
    for (const bad of ['', '$cmd', 'a$b', 'a\0', 'x'.repeat(256), 1, null, true, ['a'], { a: 1 }]) {
      expect(() => run({ ...command, [name]: bad })).toThrow(
        rejected(`/${name} must be the name of a collection.`),
      );
    }
    expect(() => run({ ...command, [name]: ':x' })).toThrow(rejected(`/${name} ${ofTheQuery}`));
  });

  it('is complete', () => {
    for (const required of Object.keys(command).slice(1)) {
      expect(() => run({ [name]: 'o' })).toThrow(rejected(`/${required} is missing.`));
    }
  });

  it('does what its command says', () => {
    const text = JSON.stringify(command);
    expect(verbOf(text)).toBe(verb);
    for (const said of [verb, name.toUpperCase()]) {
      const compiled = compileCommand(text, { command: said, variables: [] });
      const kind = verb === 'SELECT' ? 'read' : 'standalone';
      expect(compiled).toMatchObject({ kind, verb, uncounted: false, variables: [] });
    }
    const other = verb === 'DELETE' ? 'UPDATE' : 'DELETE';
    expect(() => bind(command, {}, { command: other })).toThrow(
      expect.objectContaining({
        code: 'COMMAND_MISMATCH',
        message: `The query is ${name}, but the command is ${other}. Set the command to ${verb} if that is what you want to run.`,
        stage: 'prepare',
        retryable: false,
      }),
    );
  });
});

describe('a list of writes', () => {
  const all = { q: { a: ':x' }, collation: { locale: 'de' }, hint: 'a_1' };
  const update = {
    ...all,
    u: { $set: { b: ':x' } },
    c: { v: ':x' },
    multi: true,
    upsert: false,
    sort: { a: 1 },
  };
  const filters = { arrayFilters: [{ 'e.a': { $gt: ':n' } }] };

  it('accepts values in the places of values', () => {
    expect(run({ update: 'o', updates: [{ ...update, ...filters }] }).updates).toEqual([
      {
        ...update,
        q: { a: x },
        u: { $set: { b: x } },
        c: { v: x },
        arrayFilters: [{ 'e.a': { $gt: 3 } }],
      },
    ]);
    expect(run({ delete: 'o', deletes: [{ ...all, limit: 1 }] }).deletes).toEqual([
      { ...all, q: { a: x }, limit: 1 },
    ]);
  });

  it.each(['multi', 'upsert', 'collation', 'hint', 'sort'])('has %s from the query alone', (field) => {
    expect(() => run({ update: 'o', updates: [{ [field]: ':x' }] })).toThrow(
      rejected(`/updates/0/${field} ${ofTheQuery}`),
    );
  });

  it.each(['limit', 'collation', 'hint'])('has %s of a delete from the query alone', (field) => {
    expect(() => run({ delete: 'o', deletes: [{}, { [field]: ':x' }] })).toThrow(
      rejected(`/deletes/1/${field} ${ofTheQuery}`),
    );
  });

  it.each<[object, string]>([
    [{ updates: ':x' }, '/updates must be a list of updates, and cannot be a variable.'],
    [{ updates: [':x'] }, '/updates/0 must be an object (an operation), and cannot be a variable.'],
    [{ updates: [{ c: ':x' }] }, `/updates/0/c ${ofAValue}`],
    [{ updates: [{ q: ':x' }] }, '/updates/0/q must be an object (a filter), and cannot be a variable.'],
    [
      { updates: [{ arrayFilters: ':x' }] },
      '/updates/0/arrayFilters must be a list of filters, and cannot be a variable.',
    ],
    [
      { updates: [{ arrayFilters: [':x'] }] },
      '/updates/0/arrayFilters/0 must be an object (a filter), and cannot be a variable.',
    ],
    ...['limit', 'toString', '$db', ''].map((name): [object, string] => [
      { updates: [{ [name]: 1 }] },
      `/updates/0/${name} is not one of q, u, c, multi, upsert, arrayFilters, collation, hint, sort.`,
    ]),
  ])('of updates is refused: %j', (fields, message) => {
    expect(() => run({ update: 'o', ...fields })).toThrow(rejected(message));
  });

  it.each<[object, string]>([
    [{ deletes: ':x' }, '/deletes must be a list of deletes, and cannot be a variable.'],
    [{ deletes: [{ q: ':x' }] }, '/deletes/0/q must be an object (a filter), and cannot be a variable.'],
    [{ deletes: [{ multi: true }] }, '/deletes/0/multi is not one of q, limit, collation, hint.'],
  ])('of deletes is refused: %j', (fields, message) => {
    expect(() => run({ delete: 'o', ...fields })).toThrow(rejected(message));
  });
});
