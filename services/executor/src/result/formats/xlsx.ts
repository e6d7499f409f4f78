/**
 * `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`, ECMA-376 part 1: a workbook whose cells have
 * types. A program calculates with doubles, so a number that a double cannot hold is a cell of text, as it is a string in
 * JSON. Texts are never formulas. NULL is an empty cell, and the empty text is a text.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { uniqueNames } from '../column-names.ts';
import { ByteWriter, writeAscii, writeInteger } from '../values/primitives.ts';
import { type CellWriter, cellWriter, styles, writeTextCell } from '../xlsx/cells.ts';
import { ZipWriter } from '../xlsx/zip.ts';
import type { FormatOptions, Open, ResponseEnd, RowEncoder } from './format.ts';

export const createXlsx = (): Open<RowEncoder> => (out, options) => new XlsxEncoder(out, options);

/** A sheet has 1,048,576 rows, of which the first has the names, and 16,384 columns. */
const rowsMax = 1_048_575;
const columnsMax = 16_384;
/** Of XML. The next sheet begins before sizes take more than 32 bits. */
const sheetBytesMax = 2_147_483_648;
/** Of XML that is compressed at once, which takes about a millisecond. */
const blockBytes = 131_072;
/** Of the buffer for the XML, which grows for longer rows. */
const sheetBytes = blockBytes + 16_384;
const keptBytesMax = 4 * blockBytes;
/** Of XML of one row, which is written in one piece. */
const rowBytesMax = 8_388_608;

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const contentTypes = 'http://schemas.openxmlformats.org/package/2006/content-types';
const partType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const sheetHead = `${xml}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;
const sheetTail = '</sheetData></worksheet>';
const relationship = (id: number, type: string, target: string) =>
  `<Relationship Id="r${id}" Type="${office}/${type}" Target="${target}"/>`;

class XlsxEncoder implements RowEncoder {
  readonly #zip: ZipWriter;
  readonly #options: FormatOptions;
  /** The XML of the sheet that is not compressed yet. */
  readonly #sheet = new ByteWriter(sheetBytes);
  #names: string[] = [];
  #writers: CellWriter[] = [];
  /** The beginning of each column's cells, up to the number of the row. */
  #cells: string[] = [];
  #sheets = 0;
  #sheetBytes = 0;
  #rows = 0;

  constructor(out: ByteWriter, options: FormatOptions) {
    this.#zip = new ZipWriter(out);
    this.#options = options;
  }

  begin(columns: readonly SinkColumn[]): void {
    if (columns.length > columnsMax)
      throw new HubError('NOT_ACCEPTABLE', `XLSX has at most ${columnsMax} columns.`, { retryable: false });
    this.#names = uniqueNames(columns.map(({ name }) => name));
    this.#cells = this.#names.map((_, i) => `<c r="${lettersOf(i)}`);
    this.#writers = columns.map(({ kind }) => cellWriter(kind, this.#options.numbers));
    this.#part('_rels/.rels', relationsOf([relationship(1, 'officeDocument', 'xl/workbook.xml')]));
    this.#part('xl/styles.xml', `${xml}${styles}`);
    this.#beginSheet();
  }

  row(source: Buffer, offsets: Int32Array): void {
    if (this.#rows === rowsMax || this.#sheetBytes > sheetBytesMax) {
      this.#endSheet();
      this.#beginSheet();
    }
    const sheet = this.#sheet;
    const row = ++this.#rows + 1;
    const rowEnd = sheet.position + rowBytesMax;
    sheet.elements = 0;
    writeAscii(sheet, '<row r="');
    writeInteger(sheet, row);
    writeAscii(sheet, '">');
    for (let i = 0; i < this.#writers.length; i++) {
      const start = offsets[2 * i] as number;
      if (start < 0) continue;
      const from = sheet.position;
      writeAscii(sheet, this.#cells[i] as string);
      writeInteger(sheet, row);
      writeAscii(sheet, '"');
      const empty = sheet.position;
      const write = this.#writers[i] as CellWriter;
      if (!write(sheet, source, start, offsets[2 * i + 1] as number)) this.#fail(this.#names[i] as string);
      if (sheet.position === empty) sheet.position = from;
      if (sheet.position > rowEnd) throw rowTooLarge();
    }
    writeAscii(sheet, '</row>');
    if (sheet.position >= blockBytes) this.#compress();
  }

  end({ truncated, rowCount }: ResponseEnd): void {
    this.#endSheet();
    const numbers = Array.from({ length: this.#sheets }, (_, i) => i + 1);
    const nameOf = (n: number) => {
      const name = n === 1 ? 'Rows' : `Rows ${n}`;
      return truncated && n === this.#sheets ? `${name}, cut after ${rowCount}` : name;
    };
    const sheets = numbers.map((n) => `<sheet name="${nameOf(n)}" sheetId="${n}" r:id="r${n}"/>`);
    this.#part(
      'xl/workbook.xml',
      `${xml}<workbook xmlns="${main}" xmlns:r="${office}"><sheets>${sheets.join('')}</sheets></workbook>`,
    );
    const ofSheets = numbers.map((n) => relationship(n, 'worksheet', `worksheets/sheet${n}.xml`));
    const ofStyles = relationship(this.#sheets + 1, 'styles', 'styles.xml');
    this.#part('xl/_rels/workbook.xml.rels', relationsOf([...ofSheets, ofStyles]));
    const types = [
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
      overrideOf('workbook.xml', 'sheet.main'),
      overrideOf('styles.xml', 'styles'),
      ...numbers.map((n) => overrideOf(`worksheets/sheet${n}.xml`, 'worksheet')),
    ];
    this.#part('[Content_Types].xml', `${xml}<Types xmlns="${contentTypes}">${types.join('')}</Types>`);
    this.#zip.end();
  }

  #part(name: string, content: string): void {
    this.#zip.begin(name);
    this.#zip.append(Buffer.from(content));
    this.#zip.endEntry();
  }

  #beginSheet(): void {
    this.#zip.begin(`xl/worksheets/sheet${++this.#sheets}.xml`);
    this.#sheetBytes = 0;
    this.#rows = 0;
    const sheet = this.#sheet;
    writeAscii(sheet, `${sheetHead}<row r="1">`);
    for (const [i, name] of this.#names.entries()) {
      const bytes = Buffer.from(name);
      writeAscii(sheet, `${this.#cells[i]}1" s="1"`);
      if (!writeTextCell(sheet, bytes, 0, bytes.length)) this.#fail(name);
    }
    writeAscii(sheet, '</row>');
  }

  #endSheet(): void {
    writeAscii(this.#sheet, sheetTail);
    this.#compress();
    this.#zip.endEntry();
  }

  #compress(): void {
    const { buffer, position } = this.#sheet;
    this.#zip.append(buffer.subarray(0, position));
    this.#sheetBytes += position;
    // A long row keeps no memory: the next rows may wait for a slow reader.
    if (buffer.length > keptBytesMax) this.#sheet.take(sheetBytes);
    else this.#sheet.position = 0;
  }

  #fail(column: string): never {
    throw new HubError(
      'CONTRACT_BROKEN',
      `The column ${JSON.stringify(column.slice(0, 100))} has a text of more than 32,767 characters, which a cell of XLSX cannot hold. Cut it in the statement, or request CSV.`,
      { retryable: false },
    );
  }
}

const rowTooLarge = () =>
  new HubError(
    'RESULT_TOO_LARGE',
    `A row takes more than ${rowBytesMax / 1_048_576} MiB as XLSX. Select fewer columns, or request CSV.`,
    { retryable: false },
  );

const relationsOf = (list: readonly string[]) =>
  `${xml}<Relationships xmlns="${relations}">${list.join('')}</Relationships>`;

const overrideOf = (part: string, type: string) =>
  `<Override PartName="/xl/${part}" ContentType="${partType}.${type}+xml"/>`;

/** The letters of the column with this index, counted from 0. */
function lettersOf(index: number): string {
  let letters = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26))
    letters = String.fromCharCode(0x41 + ((rest - 1) % 26)) + letters;
  return letters;
}
