import { expect, it } from 'vitest';
import type { Fault } from '../../src/files/fault.ts';
import { changedKeyMembers, readKeyFile } from '../../src/files/key-file.ts';

const read = (expiresAt: string) => {
  const faults: Fault[] = [];
  const text = `scopes: [queries:execute]\nexpiresAt: ${expiresAt}\n`;
  return { faults, model: readKeyFile(text, { file: 'keys/a.yaml', path: 'a', faults })?.model };
};

it.each(['soon', '31.01.2027', '2027-01-31', '2027-01-31T00:00:00'])(
  'refuses %s for the end of a key, which would be none',
  (end) => {
    expect(read(end).faults).toMatchObject([{ line: 2, detail: expect.stringContaining('a timestamp') }]);
  },
);

it('finds an end that does not exist different from none, and the same time in another zone equal', () => {
  const key = { path: 'a', scopes: ['queries:execute'], limits: {} };
  const ofFile = (end: string) => ({ ...key, ...read(end).model });
  expect(changedKeyMembers(ofFile('2027-13-01T00:00:00Z'), key)).toEqual(['expiresAt']);
  const same = { ...key, expiresAt: '2027-01-31T00:00:00.000Z' };
  expect(changedKeyMembers(ofFile('2027-01-31T01:00:00+01:00'), same)).toEqual([]);
  expect(changedKeyMembers(key, key)).toEqual([]);
});
