/**
 * Joins workbooks of the hub into one: "APPNOTE.TXT", version 6.3.10, PKWARE, and ECMA-376 part 1. Their sheets have all
 * texts in their cells and the same styles, so the compressed sheets are copied, and only the lists of sheets are new.
 */

export interface Workbook {
  /** What its sheets are called. */
  label: string;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Entry {
  name: string;
  method: number;
  crc: number;
  /** Of the content without compression. */
  size: number;
  data: Uint8Array<ArrayBuffer>;
}

const signatures = { entry: 0x04034b50, listed: 0x02014b50, directory: 0x06054b50 };
const version = 20;
/** Names are UTF-8. */
const flags = 0x0800;
/** 1980-01-01, the first day that ZIP knows. */
const date = 0x0021;
const tailBytes = 22;
const sheetName = /^xl\/worksheets\/sheet(\d+)\.xml$/;
const parts = {
  workbook: 'xl/workbook.xml',
  relations: 'xl/_rels/workbook.xml.rels',
  types: '[Content_Types].xml',
};

export async function joinWorkbooks(books: readonly Workbook[]): Promise<Blob> {
  const sheets: { name: string; entry: Entry }[] = [];
  const taken = new Set([reservedName]);
  let first: Map<string, Entry> | undefined;
  for (const { label, bytes } of books) {
    const entries = entriesOf(bytes);
    first ??= entries;
    const names = namesIn(await textOf(entries, parts.workbook));
    for (const [name, entry] of entries) {
      const number = sheetName.exec(name)?.[1];
      if (number === undefined) continue;
      sheets.push({ name: uniqueName(label, names[Number(number) - 1] ?? '', taken), entry });
    }
  }
  if (first === undefined) throw new TypeError('There are no rows to download.');
  const texts = [
    [
      parts.workbook,
      withSheets(
        await textOf(first, parts.workbook),
        sheets.map(({ name }) => name),
      ),
    ],
    [parts.relations, withParts(await textOf(first, parts.relations), sheets.length)],
    [parts.types, withParts(await textOf(first, parts.types), sheets.length)],
  ] as const;
  const others = [...first.values()].filter(
    ({ name }) => !sheetName.test(name) && !texts.some(([part]) => part === name),
  );
  return toZip([
    ...others,
    ...sheets.map(({ entry }, i) => ({ ...entry, name: `xl/worksheets/sheet${i + 1}.xml` })),
    ...texts.map(([name, text]) => toEntry(name, text)),
  ]);
}

/** Reads the directory at the end of an archive. */
function entriesOf(bytes: Uint8Array<ArrayBuffer>): Map<string, Entry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tail = bytes.byteLength - tailBytes;
  if (tail < 0 || view.getUint32(tail, true) !== signatures.directory)
    throw new TypeError('The workbook broke off.');
  const entries = new Map<string, Entry>();
  let at = view.getUint32(tail + 16, true);
  for (let left = view.getUint16(tail + 10, true); left > 0; left--) {
    const compressed = view.getUint32(at + 20, true);
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true)) as [
      number,
      number,
      number,
    ];
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const head = view.getUint32(at + 42, true);
    const from = head + 30 + view.getUint16(head + 26, true) + view.getUint16(head + 28, true);
    entries.set(name, {
      name,
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      size: view.getUint32(at + 24, true),
      data: bytes.subarray(from, from + compressed),
    });
    at += 46 + nameLength + extra + comment;
  }
  return entries;
}

async function textOf(entries: Map<string, Entry>, name: string): Promise<string> {
  const entry = entries.get(name);
  if (entry === undefined) throw new TypeError(`The workbook has no ${name}.`);
  const stream = new Blob([entry.data]).stream();
  const plain = entry.method === 0 ? stream : stream.pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(plain).text();
}

const namesIn = (workbook: string): string[] =>
  [...workbook.matchAll(/<sheet name="([^"]*)"/g)].map(([, name]) => name ?? '');

const nameMax = 31;
/** Excel keeps this name for itself, in any case. */
const reservedName = 'history';

/** The hub calls sheets “Rows”, “Rows 2” and “Rows, cut after 5”: what follows the word is kept. */
function uniqueName(label: string, sheet: string, taken: Set<string>): string {
  const more = sheet.replace(/^Rows/, '');
  // Programs refuse these characters, and names that begin or end with an apostrophe.
  const plain =
    label
      .replaceAll(/[[\]:*?/\\\p{Cc}]/gu, ' ')
      .replaceAll("'", '’')
      .trim() || 'Rows';
  for (let n = 1; ; n++) {
    const end = `${more}${n === 1 ? '' : ` (${n})`}`;
    // Without half of a surrogate pair.
    const cut = plain.slice(0, nameMax - end.length).replace(/[\ud800-\udbff]$/, '');
    const name = cut.trim() + end;
    const known = name.toLowerCase();
    if (taken.has(known)) continue;
    taken.add(known);
    return name;
  }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const withSheets = (workbook: string, names: readonly string[]): string =>
  workbook.replace(
    /<sheets>.*<\/sheets>/s,
    () =>
      `<sheets>${names.map((name, i) => `<sheet name="${escaped(name)}" sheetId="${i + 1}" r:id="r${i + 1}"/>`).join('')}</sheets>`,
  );

/** A list of parts has an element for each sheet: the first one stands for all. Ids count from 1, sheets first. */
function withParts(list: string, sheets: number): string {
  const element = /<(?:Relationship|Override) [^>]*worksheets\/sheet1\.xml"[^>]*\/>/.exec(list)?.[0] ?? '';
  const others = list.replaceAll(/<(?:Relationship|Override) [^>]*worksheets\/sheet\d+\.xml"[^>]*\/>/g, '');
  const ofSheet = (n: number) =>
    element.replace('sheet1.xml', `sheet${n}.xml`).replace(/Id="r\d+"/, `Id="r${n}"`);
  const all = Array.from({ length: sheets }, (_, i) => ofSheet(i + 1)).join('');
  return others
    .replace(/ Id="r\d+"/, ` Id="r${sheets + 1}"`)
    .replace(/<\/(?:Relationships|Types)>/, (end) => all + end);
}

function toEntry(name: string, text: string): Entry {
  const data = new TextEncoder().encode(text);
  return { name, method: 0, crc: crc32(data), size: data.length, data };
}

/** The checksum of RFC 1952, 8, bit by bit: only small texts need it. */
function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function toZip(entries: readonly Entry[]): Blob {
  const body: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const entry of entries) {
    const name = new TextEncoder().encode(entry.name);
    const head = headOf(entry, name.length, false);
    const listed = headOf(entry, name.length, true);
    new DataView(listed.buffer).setUint32(42, at, true);
    body.push(head, name, entry.data);
    directory.push(listed, name);
    at += head.length + name.length + entry.data.length;
  }
  const bytes = directory.reduce((sum, { length }) => sum + length, 0);
  const tail = new DataView(new ArrayBuffer(tailBytes));
  tail.setUint32(0, signatures.directory, true);
  tail.setUint16(8, entries.length, true);
  tail.setUint16(10, entries.length, true);
  tail.setUint32(12, bytes, true);
  tail.setUint32(16, at, true);
  return new Blob([...body, ...directory, tail.buffer]);
}

/** The head of an entry, or its place in the directory, which share their facts. */
function headOf({ method, crc, size, data }: Entry, nameLength: number, isListed: boolean) {
  const view = new DataView(new ArrayBuffer(isListed ? 46 : 30));
  const from = isListed ? 6 : 4;
  view.setUint32(0, isListed ? signatures.listed : signatures.entry, true);
  if (isListed) view.setUint16(4, version, true);
  view.setUint16(from, version, true);
  view.setUint16(from + 2, flags, true);
  view.setUint16(from + 4, method, true);
  view.setUint16(from + 8, date, true);
  view.setUint32(from + 10, crc, true);
  view.setUint32(from + 14, data.length, true);
  view.setUint32(from + 18, size, true);
  view.setUint16(from + 22, nameLength, true);
  return new Uint8Array(view.buffer);
}
