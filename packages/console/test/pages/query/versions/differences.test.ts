import { expect, it } from 'vitest';
import type { QueryVersion } from '../../../../src/api/types.ts';
import {
  changeWords,
  differencesOf,
  partsThatDiffer,
} from '../../../../src/pages/query/versions/differences.ts';

const version: QueryVersion = {
  number: 2,
  at: '2026-11-20T13:04:05.123Z',
  keyId: 'k',
  label: 'q',
  text: 'SELECT 1',
  command: 'SELECT',
  context: [{ key: 'n', type: 'bigint', value: 1 }],
  sourceId: 's',
  engine: 'postgres',
};
const sourceName = (sourceId: string) => `source ${sourceId}`;

it('names every setting that differs, with both values', () => {
  const other: QueryVersion = {
    ...version,
    label: 'r',
    sourceId: 't',
    command: 'VALUES',
    context: [
      { key: 'n', type: 'bigint', required: true, enum: [1, 2], description: 'how many' },
      { key: 'm', value: 'x' },
    ],
    cache: { maxAgeS: 60, staleS: 5, validate: 'SELECT 2' },
    notNull: ['a', 'b'],
  };
  expect(differencesOf(version, other, sourceName)).toEqual([
    { what: 'Name', before: 'q', after: 'r' },
    { what: 'Source', before: 'source s', after: 'source t' },
    { what: 'Command', before: 'SELECT', after: 'VALUES' },
    {
      what: 'Variable n',
      before: 'bigint, default 1',
      after: 'bigint, required, one of 1, 2, “how many”',
    },
    { what: 'Cache', before: 'none', after: '60 s, then 5 s in the background, checked with SELECT 2' },
    { what: 'Never null', before: 'none', after: 'a, b' },
    { what: 'Variable m', before: 'none', after: 'any type, default "x"' },
  ]);
  const later = { ...version, number: 3, at: 'later' };
  expect(differencesOf(version, later, sourceName)).toEqual([]);
});

it.each([
  [{ value: 1 }, { value: '1' }],
  [{ value: null }, { value: 'null' }],
  [{ enum: [1] }, { enum: ['1'] }],
])('tells values that differ in their type alone: %j %j', (one, other) => {
  const [before, after] = [one, other].map((declared) => ({
    ...version,
    context: [{ key: 'n', ...declared }],
  }));
  expect(differencesOf(before as QueryVersion, after as QueryVersion, sourceName)).toHaveLength(1);
});

it('says in a word what a version did', () => {
  const text = { ...version, number: 3, text: 'SELECT 2', context: [], label: 'r' };
  expect(partsThatDiffer(version, text)).toEqual(['statement', 'name', 'variables']);
  expect(changeWords(text, version)).toBe('statement, name, variables');
  expect(changeWords({ ...text, restoredFrom: 1 }, version)).toBe('restored version 1');
  expect(changeWords({ ...version, number: 1 }, undefined)).toBe('created');
  expect(changeWords(version, undefined)).toBe('oldest version');
});
