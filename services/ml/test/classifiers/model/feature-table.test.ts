import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { FeatureTable } from '../../../src/classifiers/model/feature-table.ts';
import type { SparseCounts } from '../../../src/classifiers/model/sparse-counts.ts';
import { noPause } from './restored.ts';

/** The numbers of one row, by class index. */
interface Row {
  documents: number;
  bayes: Map<number, number>;
  regression: Map<number, [weight: number, squares: number]>;
}

function read(table: FeatureTable): Map<number, Row> {
  const pairsOf = (row: number, { starts, sizes }: SparseCounts) =>
    Array.from({ length: sizes[row] as number }, (_, i) => (starts[row] as number) + i);
  const { bayes, regression } = table;
  return new Map(
    Array.from({ length: table.rows }, (_, row) => [
      table.keys[row] as number,
      {
        documents: table.documents[row] as number,
        bayes: new Map(
          pairsOf(row, bayes).map((pair) => [bayes.classes[pair] as number, bayes.values[pair] as number]),
        ),
        regression: new Map(
          pairsOf(row, regression).map((pair) => [
            regression.classes[pair] as number,
            [regression.values[pair] as number, regression.squares[pair] as number],
          ]),
        ),
      },
    ]),
  );
}

const actions = fc.array(
  fc.oneof(
    {
      weight: 30,
      arbitrary: fc.record({
        hash: fc.nat(40).map((nat) => nat * 104_729_001),
        classIndex: fc.nat(12),
        value: fc.integer({ min: 1, max: 9 }),
        learnt: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ dropped: fc.nat(12) }) },
    { weight: 1, arbitrary: fc.constant({ restore: true }) },
  ),
  { maxLength: 400 },
);

it('keeps the numbers of each row and class while rows move, classes are dropped and states are restored', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (all) => {
      let table = new FeatureTable();
      const expected = new Map<number, Row>();
      for (const action of all) {
        if ('restore' in action) {
          table = await FeatureTable.from(await table.toState(noPause), noPause);
        } else if ('dropped' in action) {
          await table.dropClass(action.dropped, noPause);
          for (const { bayes, regression } of expected.values()) {
            bayes.delete(action.dropped);
            regression.delete(action.dropped);
          }
        } else {
          const { hash, classIndex, value, learnt } = action;
          const one = expected.get(hash) ?? { documents: 0, bayes: new Map(), regression: new Map() };
          expected.set(hash, one);
          const row = table.findOrAdd(hash);
          table.documents[row] = ++one.documents;
          const pairs = learnt ? table.regression : table.bayes;
          const pair = pairs.findOrAdd(row, classIndex);
          pairs.values[pair] = value;
          if (learnt) {
            pairs.squares[pair] = value * value;
            one.regression.set(classIndex, [value, value * value]);
          } else one.bayes.set(classIndex, value);
        }
      }
      expect(read(table)).toEqual(expected);
      expect(read(await FeatureTable.from(await table.toState(noPause), noPause))).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

it('starts each pair at 0, also in reused memory', () => {
  const table = new FeatureTable();
  const { regression } = table;
  const row = table.findOrAdd(1);
  for (let classIndex = 0; classIndex < 40; classIndex++) {
    const pair = regression.findOrAdd(row, classIndex);
    regression.values[pair] = 5;
    regression.squares[pair] = 5;
  }
  // These rows reuse the ranges that the first row has left.
  for (let hash = 2; hash < 40; hash++) {
    const pair = regression.findOrAdd(table.findOrAdd(hash), 0);
    expect([regression.values[pair], regression.squares[pair]]).toEqual([0, 0]);
  }
});

it('finds a row by any hash, and only what was added', () => {
  const table = new FeatureTable();
  for (let i = 0; i < 5_000; i++) expect(table.findOrAdd((i * 2_654_435_761) >>> 0)).toBe(i);
  for (let i = 0; i < 5_000; i++) expect(table.find((i * 2_654_435_761) >>> 0)).toBe(i);
  expect(table.find(12_345)).toBe(-1);
  // The last slot is taken, so probing continues at the first.
  for (let i = 0; i < 5; i++) expect(table.findOrAdd(0xffff_ffff - i)).toBe(5_000 + i);
  for (let i = 0; i < 5; i++) expect(table.find(0xffff_ffff - i)).toBe(5_000 + i);
});

it('needs no more time for hashes that are close to each other, as of chosen words', async () => {
  await expectLinear((rows) => {
    const table = new FeatureTable();
    for (let hash = 0; hash < rows; hash++) table.findOrAdd(hash);
  }, 32_000);
});
