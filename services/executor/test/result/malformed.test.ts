import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import type { ColumnKind } from '../../src/ports/column-kind.ts';
import { uniqueNames } from '../../src/result/column-names.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';

/** Writes one row with one column, which has these bytes. */
function write(kind: ColumnKind, source: Buffer, format: 'json' | 'arrow' = 'json'): string {
  const chunks: Buffer[] = [];
  const writer = createResponseWriter({
    format,
    numbers: 'auto',
    meta: false,
    reply: { chunk: (bytes) => chunks.push(bytes) > 0, onDrain: () => {} },
    notNull: undefined,
  });
  writer.begin([{ name: 'a', type: 'x', kind }]);
  writer.row(source, Int32Array.of(0, source.length));
  writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
  return Buffer.concat(chunks).toString();
}

const broken = expect.objectContaining({ code: 'SOURCE_BROKEN' });

it('names of 65,536 columns are made unique in linear time', () =>
  expectLinear((size) => uniqueNames(new Array(size).fill('a')), 65_536));

it('bytes in hexadecimal digits have a prefix', () => {
  const bytes: ColumnKind = { is: 'binary', bytes: 'hex' };
  expect(() => write(bytes, Buffer.from('x'), 'arrow')).toThrow(broken);
});

describe('bits', () => {
  it('are at most 64, as in MySQL and MariaDB', () => {
    expect(write({ is: 'bits', width: 64 }, Buffer.alloc(8, 0xff))).toContain(`"${'1'.repeat(64)}"`);
    expect(() => write({ is: 'bits', width: 65 }, Buffer.alloc(1))).toThrow(broken);
    expect(() => write({ is: 'bits', width: 64 }, Buffer.alloc(9))).toThrow(broken);
  });

  it.each([
    [5, Buffer.from('21'), '10101'],
    [5, Buffer.from([21]), '10101'],
    [5, Buffer.from('9'), '01001'],
    [12, Buffer.from('21'), '000000010101'],
    [12, Buffer.from([0, 21]), '000000010101'],
    [16, Buffer.from('12849'), '0011001000110001'],
    [16, Buffer.from('05'), '0011000000110101'],
    [64, Buffer.from('18446744073709551615'), '1'.repeat(64)],
    [16, Buffer.from('ÿ\u0001'), '1111111100000001'],
    [16, Buffer.from('€\u0000'), '1000000000000000'],
  ])('of an expression of BIT(%i) can be digits (%#)', (width, source, expected) => {
    expect(write({ is: 'bits', width, mayBeDigits: true }, source)).toContain(`"${expected}"`);
  });

  it('of an expression are refused if they can be read in two ways', () => {
    const twice = expect.objectContaining({ code: 'SQL_REJECTED' });
    expect(() => write({ is: 'bits', width: 16, mayBeDigits: true }, Buffer.from('21'))).toThrow(twice);
    expect(() => write({ is: 'bits', width: 8, mayBeDigits: true }, Buffer.from('5'))).toThrow(twice);
    expect(write({ is: 'bits', width: 16 }, Buffer.from('21'))).toContain('"0011001000110001"');
  });
});
