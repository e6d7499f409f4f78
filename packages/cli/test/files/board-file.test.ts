import { expect, it } from 'vitest';
import { changedBoardMembers, readBoardFile, writeBoardFile } from '../../src/files/board-file.ts';
import type { Fault } from '../../src/files/fault.ts';
import type { BoardModel } from '../../src/files/model.ts';

const whole: BoardModel = {
  ...{ path: 'sales', label: 'Sales', values: { region: 'north', ids: [1, 2] }, refreshMinutes: 5 },
  cards: [
    { text: '# Now\nPaid orders.' },
    { query: 'orders/all', label: 'All', size: 'large', values: { n: 1 }, presentation: { chart: null } },
  ],
};
const plain: BoardModel = { path: 'a/b', label: 'A', values: {}, cards: [] };

const read = (text: string, path = 'sales') => {
  const faults: Fault[] = [];
  const file = readBoardFile(text, { file: 'boards/sales.yaml', path, faults });
  return { model: file?.model, faults };
};

it.each([whole, plain])('writes a board that it reads again: $label', (board) => {
  const text = writeBoardFile(board);
  expect(read(text, board.path)).toEqual({ model: board, faults: [] });
  expect(writeBoardFile(read(text, board.path).model as BoardModel)).toBe(text);
});

it('leaves out what is the default, and takes it for none', () => {
  const said: BoardModel = { ...plain, cards: [{ query: 'q', size: 'small', values: {} }] };
  expect(writeBoardFile(said)).toBe('label: A\ncards:\n  - query: q\n');
  expect(changedBoardMembers(said, { ...plain, cards: [{ query: 'q' }] })).toEqual([]);
});

it.each(Object.keys(whole).filter((name) => name !== 'path'))('sees a change of %s', (name) => {
  const other = { ...whole, [name]: plain[name as keyof BoardModel] } as BoardModel;
  expect(changedBoardMembers(whole, other)).toEqual([name]);
});

it.each([
  ['label: A\ncards:\n  - {query: q, text: t}\n', 'boards/sales.yaml:3:5', 'either a query or a text'],
  ['label: A\ncards:\n  - {size: wide}\n', 'boards/sales.yaml:3:5', 'either a query or a text'],
  [
    'label: A\ncards:\n  - {query: q, size: huge}\n',
    'boards/sales.yaml:3:',
    'one of small, wide, large, full',
  ],
])('names the place of a fault in %j', (text, place, detail) => {
  const [fault] = read(text).faults;
  expect(`${fault?.file}:${fault?.line}:${fault?.column}`).toContain(place);
  expect(fault?.detail).toContain(detail);
});
