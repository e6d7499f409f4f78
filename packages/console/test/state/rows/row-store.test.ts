import { describe, expect, it } from 'vitest';
import { isNumericType, RowStore } from '../../../src/state/rows/row-store.ts';

const storeOf = (...rows: object[]) => {
  const store = new RowStore([]);
  store.add(rows.map((row) => JSON.stringify(row)));
  return store;
};

describe('rows whose columns nobody described, such as documents', () => {
  it('have a column for each member, wherever it appears first', async () => {
    const many = Array.from({ length: 500 }, (_, n) => ({ n }));
    const store = storeOf(...many, { n: 500, late: 'x', 'a"b': 1 }, { late: 'y', n: 501 });
    expect(store.columns.map(({ name }) => name)).toEqual(['n', 'late', 'a"b']);
    expect(store.cells(501)).toEqual(['501', '"y"', undefined]);
    await store.arrange({ sort: undefined, filter: 'y' }, () => true);
    expect(store.length).toBe(1);
  });

  it('sort numbers as numbers, also if a null comes first', async () => {
    const store = storeOf({ a: null, b: null }, { a: 10, b: 'x' }, { a: 9, b: 1 }, { a: null, b: 2 });
    expect(store.columns.map(({ numeric }) => numeric)).toEqual([true, false]);
    await store.arrange({ sort: { column: 0, descending: false }, filter: '' }, () => true);
    expect([0, 1, 2, 3].map((row) => store.cells(row)[0])).toEqual(['9', '10', 'null', 'null']);
  });

  it('sort long integers, which come as texts, as numbers among numbers', async () => {
    const long = '9007199254740993';
    const store = storeOf({ n: long, card: long }, { n: 10, card: long }, { n: long }, { n: 7, card: long });
    expect(store.columns.map(({ numeric }) => numeric)).toEqual([true, false]);
    await store.arrange({ sort: { column: 0, descending: false }, filter: '' }, () => true);
    expect([0, 1, 2, 3].map((row) => store.cells(row)[0])).toEqual(['7', '10', `"${long}"`, `"${long}"`]);
  });

  it('have at most some hundred columns, however many names there are', () => {
    const store = storeOf(...Array.from({ length: 3_000 }, (_, n) => ({ [`c${n}`]: n })));
    expect(store.columns.length).toBe(1_000);
  });
});

it.each([
  ['bigint unsigned', true],
  ['float8', true],
  ['decimal(10,2)', true],
  ['double precision', true],
  ['long', true],
  ['money', false],
  ['longtext', false],
  ['real_estate', false],
  ['int4range', false],
  ['numeric[]', false],
])('knows whether values of %s are numbers', (type, isNumber) => expect(isNumericType(type)).toBe(isNumber));
