import { expect, it } from 'vitest';
import { formatOf, type Piece, piecesOf } from '../../../src/pages/classifier/import.ts';

const csv = (header: string) => ({ mediaType: 'text/csv', header });
const ndjson = { mediaType: 'application/x-ndjson', header: undefined };

it.each([
  ['label,context\na,b', csv('label,context')],
  ['\uFEFFid, "Text" ,Category\r\n1,b,a', csv('column_0,context,label')],
  ['"note, or ""none""",label,text\n"x, y",a,b', csv('column_0,label,context')],
  ['"first\nsecond",label,text\nx,a,b', csv('column_0,label,context')],
  ['{"label":"a","context":"b"}\n', ndjson],
  // What the hub does not take as it is.
  ['label;context\na;b', undefined],
  ['delivery,where is it', undefined],
  ['{"class":"a","text":"b"}', undefined],
  ['', undefined],
])('tells the format of %j', async (text, format) => {
  expect(await formatOf(new Blob([text]))).toEqual(format);
});

async function piecesIn(text: string, format: Parameters<typeof piecesOf>[1]): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for await (const piece of piecesOf(new Blob([text]), format)) pieces.push(piece);
  return pieces;
}

it('cuts CSV between records, gives each piece a header, and knows the lines of the file', async () => {
  const record = (i: number) => `delivery,"where, is\n""parcel"" ${i} ${'x'.repeat(100)}"\n`;
  const records = Array.from({ length: 10_000 }, (_, i) => record(i));
  const pieces = await piecesIn(`Label,Text\n${records.join('')}`, csv('label,context') as never);
  expect(pieces.length).toBeGreaterThan(3);
  const bodies = pieces.map(({ body }) => body.slice('label,context\n'.length));
  expect(bodies.join('')).toBe(records.join(''));
  for (const { body } of pieces) expect(body.startsWith('label,context\ndelivery,"where, is\n')).toBe(true);
  expect(pieces[0]?.lineOf(2)).toBe(2);
  const before = (bodies[0] as string).split('\n').length - 1;
  expect(pieces[1]?.lineOf(2)).toBe(2 + before);
  expect(pieces.at(-1)?.bytesRead).toBe(`Label,Text\n${records.join('')}`.length);
  for (const { body } of pieces) expect(body.length).toBeLessThan(270_000);
});

it('cuts NDJSON between lines', async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `{"label":"ä","context":"text ${i}"}`);
  const pieces = await piecesIn(lines.join('\n'), ndjson as never);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.map(({ body }) => body).join('')).toBe(lines.join('\n'));
  const last = pieces.at(-1) as Piece;
  expect(last.lineOf(last.body.split('\n').length)).toBe(20_000);
});

it('takes the line breaks of a quoted name for the header', async () => {
  const [piece] = await piecesIn(
    '"first\nsecond",label,text\nx,a,b\n',
    csv('column_0,label,context') as never,
  );
  expect(piece?.body).toBe('column_0,label,context\nx,a,b\n');
  expect(piece?.lineOf(2)).toBe(3);
});

it('has nothing to send of a file that has only a header', async () => {
  expect(await piecesIn('label,context', csv('label,context') as never)).toEqual([]);
});

it('ends records where the hub does, whatever quotes stand within fields', async () => {
  const quoted = `delivery,"parcel, late\nPS: sorry, ""thanks""\nregards ${'x'.repeat(60)}"\n`;
  for (const stray of ['pipes,the 5" pipe broke', 'pipes,"a" b', 'pipes,"a" "b', 'pipes, "a', 'p,"a"",b"']) {
    const text = `label,context\n${stray}\n${quoted.repeat(4_000)}`;
    const pieces = await piecesIn(text, csv('label,context') as never);
    expect(pieces.length).toBeGreaterThan(1);
    for (const { body } of pieces.slice(1)) expect(body.startsWith(`label,context\n${quoted}`)).toBe(true);
  }
});
