import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Tables } from './tables.ts';

type Numbers = Map<number, { documents: number; weights: Map<number, number> }>;

function read(tables: Tables): Numbers {
  const numbers: Numbers = new Map();
  for (let row = 0; row < tables.rows; row++) {
    const weights = new Map<number, number>();
    const from = tables.starts[row] as number;
    for (let pair = from; pair < from + (tables.sizes[row] as number); pair++) {
      weights.set(tables.classes[pair] as number, tables.weights[pair] as number);
    }
    numbers.set(tables.keys[row] as number, { documents: tables.documents[row] as number, weights });
  }
  return numbers;
}

const actions = fc.array(
  fc.oneof(
    {
      weight: 30,
      arbitrary: fc.record({
        hash: fc.nat(40),
        classIndex: fc.nat(12),
        weight: fc.integer({ min: 1, max: 9 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ dropped: fc.nat(12) }) },
    { weight: 1, arbitrary: fc.constant({ restore: true }) },
  ),
  { maxLength: 400 },
);

it('keeps of each row and class what was put there, whatever moves, goes or comes back', () => {
  fc.assert(
    fc.property(actions, (all) => {
      let tables = new Tables();
      const expected: Numbers = new Map();
      for (const action of all) {
        if ('restore' in action) {
          tables = Tables.from(tables.toState());
        } else if ('dropped' in action) {
          tables.dropClass(action.dropped);
          for (const one of expected.values()) if (one.weights.delete(action.dropped)) one.documents--;
        } else {
          const { hash, classIndex, weight } = action;
          const one = expected.get(hash) ?? { documents: 0, weights: new Map<number, number>() };
          expected.set(hash, one);
          if (!one.weights.has(classIndex)) one.documents++;
          one.weights.set(classIndex, weight);
          const row = tables.findOrAdd(hash);
          const pair = tables.pairOrAdd(row, classIndex);
          if (tables.counts[pair] === 0) {
            tables.counts[pair] = 1;
            tables.documents[row] = (tables.documents[row] as number) + 1;
          }
          tables.weights[pair] = weight;
        }
      }
      expect(read(tables)).toEqual(expected);
      expect(read(Tables.from(tables.toState()))).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

it('finds a row by any hash, and only what was added', () => {
  const tables = new Tables();
  for (let i = 0; i < 5_000; i++) expect(tables.findOrAdd((i * 2_654_435_761) >>> 0)).toBe(i);
  for (let i = 0; i < 5_000; i++) expect(tables.find((i * 2_654_435_761) >>> 0)).toBe(i);
  expect(tables.find(12_345)).toBe(-1);
});
