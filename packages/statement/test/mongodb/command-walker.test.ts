import { describe, expect, it } from 'vitest';
import { aggregate, bind, find, literal, run, text, update } from '../command-fixture.ts';

const rejected = (message: string) =>
  expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false });

const withCode: [string, (code: object) => object][] = [
  ['/filter', (code) => find(code)],
  ['/filter/a', (code) => find({ a: code })],
  ['/filter/a/$not', (code) => find({ a: { $not: code } })],
  ['/filter/a/$in/0', (code) => find({ a: { $in: [code] } })],
  ['/filter/a/$elemMatch', (code) => find({ a: { $elemMatch: code } })],
  ['/filter/a/$all/0', (code) => find({ a: { $all: [code] } })],
  ['/filter/$and/0', (code) => find({ $and: [code] })],
  ['/filter/$nor/0/$expr', (code) => find({ $nor: [{ $expr: code }] })],
  ['/filter/$expr/$eq/1', (code) => find({ $expr: { $eq: [1, code] } })],
  ['/filter/$expr/$literal', (code) => find({ $expr: { $literal: code } })],
  ['/projection/a', (code) => ({ find: 'o', projection: { a: code } })],
  ['/sort', (code) => ({ find: 'o', sort: code })],
  ['/hint', (code) => ({ find: 'o', hint: code })],
  ['/collation/a/0', (code) => ({ find: 'o', collation: { a: [code] } })],
  ['/let/a', (code) => ({ find: 'o', let: { a: code } })],
  ['/query', (code) => ({ count: 'o', query: code })],
  ['/query', (code) => ({ distinct: 'o', key: 'a', query: code })],
  ['/pipeline/0/$group/a', (code) => aggregate({ $group: { _id: 1, a: code } })],
  ['/pipeline/0/$facet/a/0/$match', (code) => aggregate({ $facet: { a: [{ $match: code }] } })],
  ['/pipeline/0/$lookup/let/a', (code) => aggregate({ $lookup: { let: { a: code } } })],
  ['/pipeline/0/$lookup/from', (code) => aggregate({ $lookup: { from: code } })],
  ['/pipeline/0/$unwind', (code) => aggregate({ $unwind: code })],
  ['/pipeline/0/$search/a', (code) => aggregate({ $search: { a: code } })],
  ['/documents/0', (code) => ({ insert: 'o', documents: [code] })],
  ['/documents/0/a', (code) => ({ insert: 'o', documents: [{ a: code }] })],
  ['/updates/0/q', (code) => ({ update: 'o', updates: [{ q: code, u: {} }] })],
  ['/updates/0/u', (code) => update(code)],
  ['/updates/0/u/$set/a', (code) => update({ $set: { a: code } })],
  ['/updates/0/u/0/$set/a', (code) => update([{ $set: { a: code } }])],
  ['/updates/0/c/a', (code) => update({}, { c: { a: code } })],
  ['/updates/0/arrayFilters/0', (code) => update({}, { arrayFilters: [code] })],
  ['/deletes/0/q', (code) => ({ delete: 'o', deletes: [{ q: code, limit: 1 }] })],
];

describe.each(['$where', '$function', '$accumulator', '$_internalJsEmit', '$_internalJsReduce'])(
  '%s',
  (name) => {
    it.each(withCode)('is refused at %s', (pointer, command) => {
      expect(() => run(command({ [name]: { body: 'x' } }))).toThrow(
        rejected(`${pointer}/${name} runs code at the server, which the hub does not allow.`),
      );
    });
  },
);

describe('a filter', () => {
  it.each<[object, object]>([
    [{ a: ':x' }, { a: text }],
    [{ a: { b: ':x' } }, { a: { b: text } }],
    [
      { $jsonSchema: { properties: { a: { enum: [':x'], minimum: ':n' } } } },
      { $jsonSchema: { properties: { a: { enum: [text], minimum: 3 } } } },
    ],
    [
      { a: null, b: [], c: true },
      { a: null, b: [], c: true },
    ],
    [
      { a: {}, b: { '': ':x' } },
      { a: {}, b: { '': text } },
    ],
    [{ a: { $gt: ':n', $lte: '{{n}}' } }, { a: { $gt: 3, $lte: 3 } }],
    [{ a: { $in: [':x', ':n'] } }, { a: { $in: [text, 3] } }],
    [{ a: { $not: { $gt: ':n' } } }, { a: { $not: { $gt: 3 } } }],
    [{ a: { $not: { $elemMatch: { b: ':x' } } } }, { a: { $not: { $elemMatch: { b: text } } } }],
    [{ a: { $elemMatch: { $gt: ':n' } } }, { a: { $elemMatch: { $gt: 3 } } }],
    [{ a: { $elemMatch: { b: { $ne: ':x' } } } }, { a: { $elemMatch: { b: { $ne: text } } } }],
    [{ a: { $elemMatch: { $or: [{ b: ':x' }] } } }, { a: { $elemMatch: { $or: [{ b: text }] } } }],
    [{ a: { $all: ':n' } }, { a: { $all: 3 } }],
    [
      { a: { $all: [':x', { $elemMatch: { b: ':x' } }] } },
      { a: { $all: [text, { $elemMatch: { b: text } }] } },
    ],
    [{ $text: { $search: ':x' } }, { $text: { $search: text } }],
    [{ $expr: ':x' }, { $expr: literal }],
    [{ $and: [{ $expr: { $literal: ':x' } }] }, { $and: [{ $expr: literal }] }],
    [
      { $expr: { $cond: { $literal: ':x', other: ':x' } } },
      { $expr: { $cond: { $literal: literal, other: literal } } },
    ],
  ])('takes values where values stand: %j', (filter, written) => {
    expect(run(find(filter)).filter).toEqual(written);
  });

  it.each<[object, string]>([
    [{ $and: ':x' }, '/filter/$and must be a list of filters, and cannot be a variable.'],
    [{ $or: { a: 1 } }, '/filter/$or must be a list of filters, and cannot be a variable.'],
    [{ $nor: ':x' }, '/filter/$nor must be a list of filters, and cannot be a variable.'],
    [{ $nor: [':x'] }, '/filter/$nor/0 must be an object (a filter), and cannot be a variable.'],
    [
      { a: { $all: [{ $not: ':x' }] } },
      '/filter/a/$all/0/$not is the variable :x, but only a constant can stand here.',
    ],
    [
      { $jsonSchema: { properties: { enum: ':x' } } },
      '/filter/$jsonSchema/properties/enum is the variable :x, but only a constant can stand here.',
    ],
    [
      { $jsonSchema: { anyOf: [{ required: [':x'] }] } },
      '/filter/$jsonSchema/anyOf/0/required/0 is the variable :x, but only a constant can stand here.',
    ],
    [{ $text: ':x' }, '/filter/$text is the variable :x, but only a constant can stand here.'],
    [
      { $jsonSchema: '{{ x }}' },
      '/filter/$jsonSchema is the variable :x, but only a constant can stand here.',
    ],
    [{ a: { $not: ':x' } }, '/filter/a/$not is the variable :x, but only a constant can stand here.'],
    [{ a: { b: 1, $not: ':x' } }, '/filter/a/$not is the variable :x, but only a constant can stand here.'],
    [
      { a: { $elemMatch: ':x' } },
      '/filter/a/$elemMatch must be an object (a filter), and cannot be a variable.',
    ],
    [
      { a: { $elemMatch: { $not: ':x' } } },
      '/filter/a/$elemMatch/$not is the variable :x, but only a constant can stand here.',
    ],
    [
      { a: { $elemMatch: { b: { $not: ':x' } } } },
      '/filter/a/$elemMatch/b/$not is the variable :x, but only a constant can stand here.',
    ],
    [
      { a: { $elemMatch: { $and: ':x' } } },
      '/filter/a/$elemMatch/$and must be a list of filters, and cannot be a variable.',
    ],
    [
      { a: { $elemMatch: { $or: ':x' } } },
      '/filter/a/$elemMatch/$or must be a list of filters, and cannot be a variable.',
    ],
    [
      { a: { $elemMatch: { $nor: ':x' } } },
      '/filter/a/$elemMatch/$nor must be a list of filters, and cannot be a variable.',
    ],
    [
      { a: { $elemMatch: { $gt: 1, $or: ':x' } } },
      '/filter/a/$elemMatch/$or must be a list of filters, and cannot be a variable.',
    ],
    [
      { a: { $all: [{ $elemMatch: ':x' }] } },
      '/filter/a/$all/0/$elemMatch must be an object (a filter), and cannot be a variable.',
    ],
    [
      { 'a/b~c': { $not: ':x' } },
      '/filter/a~1b~0c/$not is the variable :x, but only a constant can stand here.',
    ],
    [
      { a: { '~/~/': { $function: 1 } } },
      '/filter/a/~0~1~0~1/$function runs code at the server, which the hub does not allow.',
    ],
  ])('takes no more of the caller: %j', (filter, message) => {
    expect(() => run(find(filter))).toThrow(rejected(message));
  });
});

describe('an update', () => {
  it.each<[unknown, unknown]>([
    [
      { a: ':x', b: { c: [':n'] } },
      { a: text, b: { c: [3] } },
    ],
    [
      { $set: { a: ':x' }, $inc: { n: ':n' } },
      { $set: { a: text }, $inc: { n: 3 } },
    ],
    [{ $push: { a: { $each: [':x'], $slice: ':n' } } }, { $push: { a: { $each: [text], $slice: 3 } } }],
    [{ $pull: { a: { $gt: ':n' } } }, { $pull: { a: { $gt: 3 } } }],
    [{ $pull: { a: ':x', b: { c: ':x' } } }, { $pull: { a: text, b: { c: text } } }],
    [{ $bit: { a: { or: ':n' } } }, { $bit: { a: { or: 3 } } }],
    [{ $push: { a: { $each: [], $sort: { b: ':n' } } } }, { $push: { a: { $each: [], $sort: { b: 3 } } } }],
    [{ $rename: { a: 'b' } }, { $rename: { a: 'b' } }],
    [
      [{ $set: { a: ':x' } }, { $unset: 'b' }],
      [{ $set: { a: literal } }, { $unset: 'b' }],
    ],
  ])('takes values where values stand: %j', (u, written) => {
    expect(run(update(u)).updates).toEqual([{ q: {}, u: written }]);
  });

  it.each<[unknown, string]>([
    [':x', '/updates/0/u must be an object (an update), and cannot be a variable.'],
    [{ $set: ':x' }, '/updates/0/u/$set must be an object (fields and values), and cannot be a variable.'],
    [
      { $rename: { a: ':x' } },
      '/updates/0/u/$rename/a is the variable :x, but must be a constant of the query.',
    ],
    [{ $rename: ':x' }, '/updates/0/u/$rename is the variable :x, but must be a constant of the query.'],
    [{ $bit: { a: ':x' } }, '/updates/0/u/$bit/a is the variable :x, but only a constant can stand here.'],
    [
      { $push: { a: { $each: [], $sort: ':x' } } },
      '/updates/0/u/$push/a/$sort is the variable :x, but only a constant can stand here.',
    ],
    [
      { $pull: { a: { $elemMatch: ':x' } } },
      '/updates/0/u/$pull/a/$elemMatch must be an object (a filter), and cannot be a variable.',
    ],
    [[':x'], '/updates/0/u/0 must be an object (a stage), and cannot be a variable.'],
  ])('takes no more of the caller: %j', (u, message) => {
    expect(() => run(update(u))).toThrow(rejected(message));
  });
});

it('pulls the elements that equal a value, and none that meet an object of the caller', () => {
  const pulled = (x: unknown) => bind(update({ $pull: { a: ':x' } }), { x }).updates;
  for (const x of ['a', 3, null, [1, 2]]) expect(pulled(x)).toEqual([{ q: {}, u: { $pull: { a: x } } }]);
  for (const x of [{}, { b: 1 }])
    expect(() => pulled(x)).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
});

describe('depth', () => {
  const objects = (depth: number): object => (depth === 0 ? {} : { a: objects(depth - 1) });
  const arrays = (depth: number): unknown => (depth === 0 ? [] : [arrays(depth - 1)]);

  it('is a hundred at most, of objects and of arrays', () => {
    for (const nested of [objects, arrays]) {
      expect(run({ insert: 'o', documents: [nested(99)] }).documents).toEqual([nested(99)]);
      expect(() => run({ insert: 'o', documents: [nested(100)] })).toThrow(
        'is nested more than 100 levels deep',
      );
    }
    const pointer = `/filter${'/a'.repeat(101)}`;
    expect(() => run(find(objects(101)))).toThrow(
      rejected(`${pointer} is nested more than 100 levels deep.`),
    );
  });

  it('is not what stands side by side', () => {
    const many = Array.from({ length: 300 }, (_, i) => ({ [`a${i}`]: [i] }));
    expect(run(find({ $or: many })).filter).toEqual({ $or: many });
    expect(run({ insert: 'o', documents: many }).documents).toEqual(many);
  });
});
