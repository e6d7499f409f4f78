import { readCharactersMax } from '@datahub/contract/limits';
import { FrameReader, textColumns } from '@datahub/executor-session/row-frames';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { ColumnKind } from '../../src/ports/column-kind.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';

/** Writes one row with one column, and returns what its reader gets. */
function annotated(value: string, { kind = { is: 'text' } as ColumnKind, annotations = 1 } = {}) {
  const members = Array.from({ length: annotations }, (_, i) => ({ text: 'body', as: `as${i}` }));
  const chunks: Buffer[] = [];
  const writer = createResponseWriter({
    format: 'ndjson',
    numbers: 'auto',
    meta: false,
    reply: { chunk: (bytes) => chunks.push(bytes) > 0, onDrain: () => {} },
    notNull: undefined,
    annotations: members,
  });
  const source = Buffer.from(value);
  writer.begin([{ name: 'body', type: 'text', kind }]);
  writer.row(source, Int32Array.of(0, source.length));
  writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
  let row = '';
  let texts: (string | null)[] = [];
  const reader = new FrameReader(textColumns(members).length, {
    bytes: () => {},
    row: (content, all) => {
      row = content.toString();
      texts = all;
    },
    columns: () => {},
    members: () => {},
  });
  for (const chunk of chunks) reader.push(chunk);
  return { row, texts, bytes: chunks.reduce((sum, { length }) => sum + length, 0) };
}

const read = (text = '') => text.slice(0, readCharactersMax);

describe('the text of an annotated row', () => {
  it('has all that a classifier reads of it, however its characters are escaped', () => {
    const piece = fc.constantFrom('a', '"', '\\', '\\u', '\u0001', '\n', 'ß', '東', '😀');
    fc.assert(
      fc.property(
        fc.string({ maxLength: 10 }),
        fc.array(piece, { minLength: 1, maxLength: 9 }),
        (head, unit) => {
          const text = head.toWellFormed() + unit.join('').repeat(130_000 / unit.join('').length);
          const { row, texts } = annotated(text);
          expect(JSON.parse(`${row}}`).body === text).toBe(true);
          expect(read(texts[0] ?? '') === read(text)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('is a part of the JSON of a long value that is no string', () => {
    const json = JSON.stringify(Array.from({ length: 50_000 }, () => '"東'));
    const { texts } = annotated(json, { kind: { is: 'json', mayBeInvalid: false } });
    expect(read(texts[0] ?? '')).toBe(read(json));
  });

  it('may be an array of as many elements as a row may have', () => {
    const array = `{${'1,'.repeat(299_999)}1}`;
    const kind: ColumnKind = {
      is: 'array',
      element: { is: 'integer', bits: 32, isUnsigned: false, bytes: 'digits' },
    };
    expect(annotated(array, { kind }).texts[0]?.startsWith('[1,1,')).toBe(true);
  });

  it('is sent once for all annotations of its column, and only as far as classifiers read', () => {
    const text = 'x'.repeat(1_000_000);
    expect(annotated(text, { annotations: 8 }).bytes).toBeLessThan(1.2 * text.length);
  });
});

describe('the texts of an annotated document', () => {
  const members = [
    { text: 'body', as: 'label' },
    { text: 'other', as: 'size' },
  ];

  /** Writes one document, and returns what its reader gets. */
  function read(document: object) {
    const chunks: Buffer[] = [];
    const writer = createResponseWriter({
      format: 'ndjson',
      numbers: 'auto',
      meta: false,
      reply: { chunk: (bytes) => chunks.push(bytes) > 0, onDrain: () => {} },
      annotations: members,
    });
    writer.begin([]);
    writer.document(Buffer.from(BSON.serialize(document, { ignoreUndefined: false })), 0);
    writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
    const got = { rows: [] as unknown[], texts: [] as (string | null)[][], taken: [] as string[] };
    const reader = new FrameReader(2, {
      bytes: () => {},
      row: (content, texts) => {
        got.rows.push(JSON.parse(`${content}}`));
        got.texts.push(texts);
      },
      columns: () => {},
      members: (names) => got.taken.push(...names),
    });
    for (const chunk of chunks) reader.push(chunk);
    return got;
  }

  it('are those of its members, as JSON if they are no strings', () => {
    const document = { x: 1, body: 'ä"\n', other: { list: [1, 'b'] } };
    expect(read(document)).toEqual({ rows: [document], texts: [['ä"\n', '{"list":[1,"b"]}']], taken: [] });
    expect(read({ body: null }).texts).toEqual([[null, null]]);
  });

  it('say which names are taken', () => {
    expect(read({ sizeConfidence: 1, label: 2, other: 'a' }).taken).toEqual(['label', 'sizeConfidence']);
  });

  it('are cut where classifiers no longer read', () => {
    const text = '東'.repeat(40_000);
    const [[body = ''] = []] = read({ body: text }).texts;
    expect(text.startsWith(body ?? '')).toBe(true);
    expect(body?.length).toBeGreaterThanOrEqual(readCharactersMax);
    expect(body?.length).toBeLessThan(25_000);
  });
});
