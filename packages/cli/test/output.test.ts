import { describe, expect, it } from 'vitest';
import { parseExact, restoreDigits, writeExact } from '../src/exact-numbers.ts';
import { createTable } from '../src/output.ts';
import { readValues } from '../src/read-input.ts';

describe('exact numbers', () => {
  it.each(['12345678901234567890', '[1.10,{"a":-0.50e3}]', '{"a":"1.10 \\" 2.20","b":1}', '"x"', '1e400'])(
    'are written as they were read: %s',
    (json) => expect(writeExact(parseExact(json))).toBe(json),
  );

  it('are never made of texts', () => {
    const json = JSON.stringify(['\u0000exact:42', '\u0000exact:', 'exact 1:2']);
    const mixed = `[1.50,${json.slice(1)}`;
    expect(parseExact(mixed)).toEqual([expect.anything(), ...JSON.parse(json)]);
    expect(writeExact(parseExact(mixed))).toBe(mixed);
  });

  it('are JavaScript numbers if a double holds their digits', () => {
    expect(parseExact('[1, 1.5, 1.10]')).toMatchObject([1, 1.5, { digits: '1.10' }]);
    expect(restoreDigits(JSON.stringify({ n: parseExact('1.10') }))).toBe('{"n":1.10}');
  });
});

describe('a table', () => {
  const table = (...rows: Record<string, unknown>[]) => createTable()(rows);

  it('aligns columns, and shows digits and nulls', () => {
    const rows = parseExact('[{"id": 1, "amount": 1.10}, {"id": 100, "amount": null}]');
    expect(table(...(rows as Record<string, unknown>[]))).toBe('id   amount\n───  ──────\n1    1.10\n100\n');
  });

  it('shows control characters, which could rewrite the terminal, in names, too', () => {
    expect(table({ 'a\u202e': 'x\u001b[2Jy\nz' })).toBe('a\\u202e\n─────────────\nx\\u001b[2Jy z\n');
  });

  it('keeps its columns for later rows, and is cut at the width of the terminal', () => {
    const next = createTable(8);
    next([{ name: 'abc', city: 'x' }]);
    expect(next([{ name: 'a very long name', city: 'y' }])).toBe('a v…  y\n'.slice(0, 9));
  });

  it('names the members that only later rows have', () => {
    const left = new Set<string>();
    const next = createTable(0, left);
    next([{ a: 1 }, { b: 2 }]);
    expect([...left]).toEqual([]);
    next([{ b: 3, late: 4 }, { late: 5 }]);
    expect([...left]).toEqual(['late']);
  });
});

it('reads values from words', () => {
  expect(readValues(['a=1', 'b:=1', 'a=2', 'c==:=', 'd:={"x": null}'])).toEqual({
    a: ['1', '2'],
    b: 1,
    c: '=:=',
    d: { x: null },
  });
  expect(() => readValues(['a:=x'])).toThrow(/^The value of a is not JSON. For a text, write a=…$/);
  expect(() => readValues(['a'])).toThrow('NAME=TEXT');
});
