import { Int32 } from 'mongodb';
import { expect, it } from 'vitest';
import { describedFields } from '../../../src/engines/mongodb/results.ts';

const namesOf = (projection: object) =>
  describedFields({ aggregate: 'c', pipeline: [{ $project: projection }] })?.map(({ name }) => name);

it.each<[object, string[] | undefined]>([
  [{ a: 1 }, ['_id', 'a']],
  [{ _id: 0, a: 1, 'b.c': 1 }, ['a', 'b']],
  [{ a: { b: 1 } }, ['_id', 'a']],
  [{ a: ['$b', 0], c: { $add: ['$b', 0] } }, ['_id', 'a', 'c']],
  [{ a: { $literal: new Int32(0) } }, ['_id', 'a']],
  [{ a: 0 }, undefined],
  [{ a: { b: 0 } }, undefined],
  [{ a: { b: { c: new Int32(0) } } }, undefined],
])('%o names %j', (projection, names) => {
  expect(namesOf(projection)).toEqual(names);
});
