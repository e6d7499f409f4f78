import { expect, it } from 'vitest';
import { expectLinear } from '../../../../../../tests/support/growth.ts';
import { compareLines, type DiffLine } from '../../../../src/pages/query/versions/line-diff.ts';

const signs = { added: '+', removed: '-', same: ' ', gap: '…' };
const shown = (before: string, after: string) =>
  compareLines(before, after)?.map((row) =>
    row.kind === 'gap'
      ? `… ${row.lines}`
      : `${signs[row.kind]}${row.before ?? ''}/${row.after ?? ''} ${row.text}`,
  );
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

it('names the lines of both texts, and those of one of them', () => {
  expect(shown('a\nb\nc', 'a\nx\ny\nc')).toEqual([' 1/1 a', '-2/ b', '+/2 x', '+/3 y', ' 3/4 c']);
  expect(shown('', 'a')).toEqual(['-1/ ', '+/1 a']);
});

it('leaves out equal lines that are far from a change, at both ends and in between', () => {
  const before = numbered(30);
  const after = before.with(9, 'changed').with(19, 'changed');
  expect(shown(before.join('\n'), after.join('\n'))).toEqual([
    '… 6',
    ...[' 7/7 line 7', ' 8/8 line 8', ' 9/9 line 9', '-10/ line 10', '+/10 changed'],
    ...[' 11/11 line 11', ' 12/12 line 12', ' 13/13 line 13', '… 3'],
    ...[' 17/17 line 17', ' 18/18 line 18', ' 19/19 line 19', '-20/ line 20', '+/20 changed'],
    ...[' 21/21 line 21', ' 22/22 line 22', ' 23/23 line 23', '… 7'],
  ]);
  // A gap of one line is not shorter than the line.
  expect(shown('1\n2\n3\n4\n5', '1\n2\n3\n4\nx')?.[0]).toBe(' 1/1 1');
});

it('gives up on long texts that have little in common, in linear time', async () => {
  const text = (of: string, length = 60_000) => Array.from({ length }, (_, i) => `${of}${i}`).join('\n');
  expect(compareLines('a', text('a'))).toBeUndefined();
  const compare = (size: number) => expect(compareLines(text('a', size), text('b', size))).toBeUndefined();
  await expectLinear(compare, 60_000);
});

it('marks the words that differ in lines that are much alike', () => {
  const [before, after] = (compareLines('SELECT a FROM t LIMIT 10', 'SELECT a FROM t LIMIT 20') ??
    []) as DiffLine[];
  const marked = (line: DiffLine | undefined) =>
    line?.pieces?.filter(({ isNew }) => isNew).map(({ text }) => text);
  expect([marked(before), marked(after)]).toEqual([['10'], ['20']]);
  expect(after?.pieces?.map(({ text }) => text).join('')).toBe('SELECT a FROM t LIMIT 20');
  const others = compareLines('SELECT a', 'xyz') as DiffLine[];
  expect(others.map(({ pieces }) => pieces)).toEqual([undefined, undefined]);
});
