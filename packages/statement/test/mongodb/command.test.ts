import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { describe, expect, it, test } from 'vitest';
import { compileStatement } from '../../src/compile.ts';
import { verbOf } from '../../src/mongodb/command.ts';
import { bind, find } from '../command-fixture.ts';

describe('a command', () => {
  it.each<[string, object]>([
    ['find', { find: 'o', filter: { a: 1 }, projection: { a: 1 }, sort: { a: -1 }, skip: 1, limit: 2 }],
    ['aggregate', { aggregate: 'o', pipeline: [{ $match: { a: { $gt: 1 } } }, { $group: { _id: '$a' } }] }],
    ['count', { count: 'o', query: { a: { $in: [1, 2] } } }],
    ['distinct', { distinct: 'o', key: 'a', query: {} }],
    ['insert', { insert: 'o', documents: [{ a: { b: [1, null, true, 'x'] } }], ordered: false }],
    [
      'update',
      { update: 'o', updates: [{ q: { a: 1 }, u: { $set: { b: 2 }, $inc: { c: 1 } }, multi: true }] },
    ],
    ['update by a pipeline', { update: 'o', updates: [{ q: {}, u: [{ $set: { b: '$a' } }] }] }],
    ['delete', { delete: 'o', deletes: [{ q: { a: 1 }, limit: 1 }] }],
    [
      'typed values',
      find({
        _id: { $oid: '64b7f0c2a1b2c3d4e5f60718' },
        at: { $gt: { $date: { $numberLong: '1795132800000' } } },
      }),
    ],
    [
      'logical operators',
      find({ $and: [{ a: 1 }, { $or: [{ b: 2 }, { $nor: [{ c: 3 }] }] }], d: { $not: { $gt: 5 } } }),
    ],
    [
      'members of arrays',
      find({
        items: { $elemMatch: { sku: 'x', n: { $gt: 1 } } },
        tags: { $all: [{ $elemMatch: { $gt: 1 } }] },
      }),
    ],
    ['a hostile name', find(JSON.parse('{"__proto__": 1, "constructor": {"prototype": 2}}'))],
  ])('%s is run as it is written', (_name, command) => {
    expect(bind(command)).toEqual(command);
  });

  it.each<[string, object, string]>([
    ['another command', { mapReduce: 'o' }, 'The hub runs these commands'],
    ['a command of the server', { dropDatabase: 1 }, 'The hub runs these commands'],
    ['no collection', { find: 1 }, '/find must be the name of a collection'],
    ['a collection from the caller', { find: ':name' }, 'is the variable :name'],
    ['a field that nobody passes on', { find: 'o', $db: 'admin' }, '/$db is not an allowed field of find'],
    ['no pipeline', { aggregate: 'o' }, '/pipeline is missing'],
    ['server-side code in a filter', find({ $where: 'sleep(1000)' }), '/filter/$where runs code'],
    ['server-side code below', find({ a: { $not: { $where: 'x' } } }), 'runs code'],
    [
      'a function',
      { aggregate: 'o', pipeline: [{ $project: { a: { $function: { body: 'x' } } } }] },
      'runs code',
    ],
    [
      'an accumulator',
      { aggregate: 'o', pipeline: [{ $group: { _id: 1, a: { $accumulator: {} } } }] },
      'runs code',
    ],
    ['a writing stage', { aggregate: 'o', pipeline: [{ $out: 'x' }] }, '/pipeline/0/$out writes'],
    [
      'a writing stage below',
      { aggregate: 'o', pipeline: [{ $facet: { a: [{ $merge: 'x' }] } }] },
      '$merge writes',
    ],
    [
      'a stage about the server',
      { aggregate: 'o', pipeline: [{ $currentOp: {} }] },
      'is not a stage that the hub runs',
    ],
    [
      'a stage by the name of what every object has',
      { aggregate: 'o', pipeline: [{ constructor: { $out: 'x' } }] },
      'is not a stage that the hub runs',
    ],
    [
      'two stages in one',
      { aggregate: 'o', pipeline: [{ $limit: 1, $out: 'x' }] },
      'must have exactly one member',
    ],
    ['a whole filter from the caller', find(':filter'), '/filter must be an object'],
    ['filters from the caller', find({ $or: ':filters' }), '/filter/$or must be a list'],
    ['a filter of a list from the caller', find({ $or: [':filter'] }), '/filter/$or/0 must be an object'],
    ['operators from the caller', find({ a: { $not: ':x' } }), '/filter/a/$not is the variable :x'],
    ['a pipeline from the caller', { aggregate: 'o', pipeline: ':stages' }, '/pipeline must be a list'],
    ['a stage from the caller', { aggregate: 'o', pipeline: [':stage'] }, '/pipeline/0 must be an object'],
    ['a name from the caller', find({ ':name': 1 }), 'is a variable used as a field name'],
    [
      'an update from the caller',
      { update: 'o', updates: [{ q: {}, u: ':u' }] },
      '/updates/0/u must be an object',
    ],
    [
      'fields from the caller',
      { update: 'o', updates: [{ q: {}, u: { $set: ':fields' } }] },
      '/updates/0/u/$set must be',
    ],
    [
      'how many go, from the caller',
      { delete: 'o', deletes: [{ q: {}, limit: ':n' }] },
      '/deletes/0/limit is the variable',
    ],
    ['a sort from the caller', { find: 'o', sort: ':sort' }, '/sort is the variable :sort'],
    ['a variable in a text', find({ a: 'Dear {{name}}' }), 'a variable must be the whole value'],
  ])('is refused: %s', (_name, command, message) => {
    const variables = [{ key: 'name' }];
    expect(() => bind(command, {}, { variables })).toThrow(
      expect.objectContaining({ code: 'SQL_REJECTED', message: expect.stringContaining(message) }),
    );
  });

  it('is refused with the place if the text is no JSON', () => {
    const compile = () =>
      compileStatement('{"find": "o",\n "filter": {a: 1}}', {
        dialect: 'mongodb',
        command: 'SELECT',
        variables: [],
      });
    expect(compile).toThrow(expect.objectContaining({ code: 'SQL_REJECTED', sql: { line: 2, column: 13 } }));
  });

  it('does what its command says', () => {
    const remove = { delete: 'o', deletes: [{ q: {}, limit: 0 }] };
    expect(() => bind(remove, {}, { command: 'SELECT' })).toThrow(
      expect.objectContaining({ code: 'COMMAND_MISMATCH' }),
    );
    expect(bind(remove, {}, { command: 'DELETE' })).toEqual(remove);
    expect(bind(find({}), {}, { command: 'FIND' })).toEqual(find({}));
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('is none by the name of %s', (name) => {
    const text = `{${JSON.stringify(name)}: "o"}`;
    expect(verbOf(text)).toBeUndefined();
    for (const command of ['SELECT', name.toUpperCase()]) {
      expect(() => compileStatement(text, { dialect: 'mongodb', command, variables: [] })).toThrow(
        expect.objectContaining({ code: 'SQL_REJECTED' }),
      );
    }
  });

  it('that is nested beyond all measure is refused', () => {
    let filter: object = { a: 1 };
    for (let i = 0; i < 1_000; i++) filter = { $and: [filter] };
    expect(() => bind(find(filter))).toThrow('is nested more than 100 levels deep');
  });
});

test('a command names the variables that it does not know, neither in its text nor declared', () => {
  const compiled = compileStatement(JSON.stringify(find({ a: ':x' })), {
    dialect: 'mongodb',
    command: 'SELECT',
    variables: [{ key: 'y' } as Variable],
  });
  const unknown: string[][] = [];
  const give = (context: object, strict = false) =>
    compiled.bind({
      pinnedJson: '',
      contextJson: JSON.stringify(context),
      strict,
      onUnknown: (names) => unknown.push(names),
    });
  give({ x: 1, y: 2, z: 3 });
  give({ x: 1, y: 2 }, true);
  expect(unknown).toEqual([['z']]);
  expect(() => give({ x: 1, z: 3 }, true)).toThrow('z');
});
