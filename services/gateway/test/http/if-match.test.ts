import { expect, it } from 'vitest';
import { expectedVersions } from '../../src/http/if-match.ts';

const read = (header: string | undefined) => {
  const { expectedVersion, moreVersions } = expectedVersions({ headers: { 'if-match': header } });
  return expectedVersion === undefined ? 'any' : [expectedVersion, ...moreVersions];
};
const none = [0];

it.each<[string | undefined, 'any' | number[]]>([
  [undefined, 'any'],
  ['*', 'any'],
  [' * ', 'any'],
  ['"3"', [3]],
  ['"3", "4"', [3, 4]],
  ['"3","4"\t, "3"', [3, 4]],
  [', "3", , "4",', [3, 4]],
  ['W/"3"', none],
  ['W/"3", "4"', [4]],
  ['"03"', none],
  ['"0"', none],
  ['"4294967295", "4294967296", "9999999999"', [4_294_967_295]],
  ['"3,4", "x", "", "W/"', none],
  ['"é", "5"', [5]],
])('reads %s', (header, versions) => {
  expect(read(header)).toEqual(versions);
});

it.each(['', ',', '3', '"3', '"3" "4"', 'w/"3"', 'W/ "3"', '"3", *', '*, "3"', '"3";', '"a b"'])(
  'refuses %j, which is no list of tags',
  (header) => {
    expect(() => read(header)).toThrow(expect.objectContaining({ code: 'VERSION_MISMATCH' }));
  },
);

it('reads the longest header at once', () => {
  const startedAt = performance.now();
  expect(read('"1",'.repeat(100_000))).toEqual([1]);
  expect(() => read(`"1"${' '.repeat(100_000)}x`)).toThrow();
  expect(() => read(`${' '.repeat(100_000)}"${'a'.repeat(100_000)}`)).toThrow();
  expect(performance.now() - startedAt).toBeLessThan(500);
});
