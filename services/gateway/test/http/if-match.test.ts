import { expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
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

it('reads a header in time that grows with its length alone', async () => {
  await expectLinear((count) => {
    expect(read('"1",'.repeat(count))).toEqual([1]);
    expect(() => read(`"1"${' '.repeat(count)}x`)).toThrow();
    expect(() => read(`${' '.repeat(count)}"${'a'.repeat(count)}`)).toThrow();
  }, 100_000);
});
