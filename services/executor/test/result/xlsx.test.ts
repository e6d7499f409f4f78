import { expect, it } from 'vitest';
import type { ColumnKind } from '../../src/ports/column-kind.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';
import { ByteWriter } from '../../src/result/values/primitives.ts';
import { cellWriter } from '../../src/result/xlsx/cells.ts';

const text: ColumnKind = { is: 'text' };
const directory = Buffer.from('PK\x05\x06', 'latin1');

function workbook(rows: Iterable<string | null>, names = ['a']) {
  const chunks: Buffer[] = [];
  const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'xlsx', numbers: 'auto', meta: false, reply });
  writer.begin(names.map((name) => ({ name, type: 'text', kind: text })));
  for (const row of rows) {
    const bytes = Buffer.from(row ?? '');
    writer.row(bytes, Int32Array.of(row === null ? -1 : 0, bytes.length));
  }
  return { chunks, finish: () => writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 }) };
}

function* nulls(count: number) {
  for (let i = 0; i < count; i++) yield null;
}

it('begins a further sheet after 1,048,575 rows', () => {
  const { chunks, finish } = workbook(nulls(1_048_576));
  finish();
  const file = Buffer.concat(chunks);
  const listed = file.subarray(file.indexOf('PK\x01\x02')).toString('latin1');
  expect(listed.match(/xl\/worksheets\/sheet\d\.xml/g)).toEqual([
    'xl/worksheets/sheet1.xml',
    'xl/worksheets/sheet2.xml',
  ]);
});

it('has its directory at the end only, so a broken workbook opens in no program', () => {
  const { chunks, finish } = workbook(Array.from({ length: 20_000 }, (_, i) => `${i} ${Math.sin(i)}`));
  expect(Buffer.concat(chunks).length).toBeGreaterThan(10_000);
  expect(Buffer.concat(chunks).includes(directory)).toBe(false);
  finish();
  expect(Buffer.concat(chunks).includes(directory)).toBe(true);
});

it.each([
  ['1'.repeat(308), 'a number'],
  ['1'.repeat(310), 'a text'],
  ['1E+300', 'a number'],
  ['-1E+400', 'a text'],
  ['1.5E+6144', 'a text'],
  ['1E-308', 'a text'],
  ['1.5E-6100', 'a text'],
  ['0.00', 'a number'],
])('makes %s %s, whose cell a program can read', (digits, wanted) => {
  const out = new ByteWriter();
  const value = Buffer.from(digits);
  cellWriter({ is: 'decimal' }, 'number')(out, value, 0, value.length);
  const cell = out.buffer.toString('latin1', 0, out.position);
  expect(cell.includes('inlineStr') ? 'a text' : 'a number').toBe(wanted);
  expect(cell).toContain(digits);
});

it('names the column of a text that no cell holds, and refuses too many columns', () => {
  const longest = 'é'.repeat(32_767);
  workbook([longest]).finish();
  expect(() => workbook([`${longest}é`])).toThrow(expect.objectContaining({ code: 'CONTRACT_BROKEN' }));
  expect(() => workbook([`${longest}é`])).toThrow('"a"');
  const names = Array.from({ length: 16_385 }, (_, i) => `c${i}`);
  expect(() => workbook([], names)).toThrow(expect.objectContaining({ code: 'NOT_ACCEPTABLE' }));
});

it('holds no row that takes more than 8 MiB, and stores what is large as it is', () => {
  const reply = { chunk: () => true, onDrain: () => {} };
  const rowOf = (cells: number, cell: string) => {
    const writer = createResponseWriter({ format: 'xlsx', numbers: 'auto', meta: false, reply });
    writer.begin(Array.from({ length: cells }, (_, i) => ({ name: `c${i}`, type: 'text', kind: text })));
    const source = Buffer.from(cell.repeat(cells));
    writer.row(
      source,
      Int32Array.from({ length: 2 * cells }, (_, i) => (i % 2) * cell.length + (i >> 1) * cell.length),
    );
    return writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
  };
  rowOf(200, 'x'.repeat(32_000));
  for (const tooMuch of ['x'.repeat(32_000), '&'.repeat(10_000)])
    expect(() => rowOf(300, tooMuch)).toThrow(expect.objectContaining({ code: 'RESULT_TOO_LARGE' }));
});
