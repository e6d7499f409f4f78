import { describe, expect, it } from 'vitest';
import { parseCsvRecord, type RawRecord, RecordSplitter } from '../../src/rows/records.ts';

function split(text: string | Buffer, { isCsv = false, bytesMax = 100, chunk = 1_000 } = {}): RawRecord[] {
  const splitter = new RecordSplitter({ isCsv, bytesMax });
  const bytes = Buffer.from(text as string);
  const records: RawRecord[] = [];
  for (let at = 0; at < bytes.length; at += chunk)
    records.push(...splitter.push(bytes.subarray(at, at + chunk)));
  return [...records, ...splitter.end()];
}

describe.each([1, 2, 3, 7, 1_000])('records in chunks of %i bytes', (chunk) => {
  it('are lines, without blank ones', () => {
    expect(split('é\r\n\n  \nb"\nc', { chunk })).toEqual([
      { line: 1, text: 'é' },
      { line: 4, text: 'b"' },
      { line: 5, text: 'c' },
    ]);
  });

  it('keep line breaks inside quotes, and count them', () => {
    const csv = 'a,"1\n""2"",\r\n3"\r\nb,5" pipe\n"c\n",x\n';
    expect(split(csv, { isCsv: true, chunk })).toEqual([
      { line: 1, text: 'a,"1\n""2"",\r\n3"' },
      { line: 4, text: 'b,5" pipe' },
      { line: 5, text: '"c\n",x' },
    ]);
  });

  it('can have a quoted line break behind a byte order mark', () => {
    const csv = '\ufeff"a\nb",c\n1,2\n';
    expect(split(csv, { isCsv: true, chunk })).toEqual([
      { line: 1, text: '\ufeff"a\nb",c' },
      { line: 3, text: '1,2' },
    ]);
  });

  it('are refused if they are too long or not UTF-8, and the next ones are read', () => {
    const bytes = Buffer.concat([
      Buffer.from(`${'x'.repeat(20)}\n`),
      Buffer.from([0xff, 0x0a]),
      Buffer.from('ok'),
    ]);
    expect(split(bytes, { bytesMax: 10, chunk })).toEqual([
      { line: 1, fault: 'is longer than 10 bytes' },
      { line: 2, fault: 'is not valid UTF-8' },
      { line: 3, text: 'ok' },
    ]);
  });
});

it.each<[string, string[] | string]>([
  ['a,b', ['a', 'b']],
  [',', ['', '']],
  ['"a, ""b""",c', ['a, "b"', 'c']],
  ['"",x', ['', 'x']],
  ['x,""', ['x', '']],
  ['a,"b', 'has a quoted field without a closing quote'],
  ['"a"b,c', 'has text after the closing quote of a field'],
  ['a,5" pipe', 'has a quote inside a field without quotes'],
])('reads the CSV record %s', (text, fields) => {
  expect(parseCsvRecord(text)).toEqual(fields);
});
