/** Examples out of pasted text, or a file that the hub cannot take as it is: CSV, tab-separated, NDJSON. */

import { isJson } from '../../api/exact.ts';

export interface Example {
  label: string;
  context: string;
}

export interface Parsed {
  examples: Example[];
  /** Lines that are no example, the first few. */
  faults: { line: number; detail: string }[];
  skipped: number;
}

const faultsMax = 5;
/** The first one that a header has names the column of the text. */
export const textNames = ['context', 'text', 'body', 'message', 'comment', 'subject'];
export const labelNames = ['label', 'class', 'category', 'tag', 'team'];

export const placeOf = (heads: string[], names: string[]): number =>
  names.map((name) => heads.indexOf(name)).find((at) => at >= 0) ?? -1;

export function parseExamples(input: string): Parsed {
  const text = inLines(input);
  const parsed: Parsed = { examples: [], faults: [], skipped: 0 };
  if (/^\s*\{/.test(text)) readNdjson(text, parsed);
  else readTable(text, parsed);
  return parsed;
}

/** Lines that end with LF, without a byte order mark. A list of JSON becomes NDJSON, an element a line. */
function inLines(input: string): string {
  const text = input.replace(/^\uFEFF/, '');
  if (/^\s*\[\s*\{/.test(text) && isJson(text))
    return (JSON.parse(text) as unknown[]).map((row) => JSON.stringify(row)).join('\n');
  return text.includes('\n') ? text : text.replaceAll('\r', '\n');
}

/** The texts without labels: of a column that names them in CSV or NDJSON, or else each line. */
export function readTexts(input: string): string[] {
  const text = inLines(input);
  if (/^\s*\{/.test(text)) return text.split('\n').flatMap(textOfJson);
  const separator = separatorOf(text);
  const rows = [...rowsOf(text, separator)];
  const heads = rows[0]?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const at = placeOf(heads, textNames);
  // Separators in a text without quotes belong to it, if no other column follows.
  const end = at === heads.length - 1 ? undefined : at + 1;
  const texts =
    at < 0 ? text.split('\n') : rows.slice(1).map(({ cells }) => cells.slice(at, end).join(separator));
  return texts.map((one) => one.trim()).filter((one) => one !== '');
}

function textOfJson(line: string): string[] {
  try {
    const row = JSON.parse(line) as Record<string, unknown>;
    const found = textNames.map((name) => row[name]).find((value) => typeof value === 'string');
    return typeof found === 'string' && found.trim() !== '' ? [found] : [];
  } catch {
    return [];
  }
}

function add(
  parsed: Parsed,
  { label, context, line }: { label: unknown; context: unknown; line: number },
): void {
  if (
    typeof label === 'string' &&
    label.trim() !== '' &&
    typeof context === 'string' &&
    context.trim() !== ''
  ) {
    parsed.examples.push({ label: label.trim(), context });
  } else skip(parsed, { line, detail: 'needs a label and a text' });
}

function skip(parsed: Parsed, fault: Parsed['faults'][number]): void {
  parsed.skipped++;
  if (parsed.faults.length < faultsMax) parsed.faults.push(fault);
}

function readNdjson(text: string, parsed: Parsed): void {
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const row = JSON.parse(line) as Record<string, unknown>;
      const find = (names: string[]) => names.map((name) => row[name]).find((value) => value !== undefined);
      add(parsed, { label: find(labelNames), context: find(textNames), line: i + 1 });
    } catch {
      skip(parsed, { line: i + 1, detail: 'is not a JSON object' });
    }
  }
}

function separatorOf(text: string): string {
  const firstLine = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'));
  return firstLine.includes('\t') ? '\t' : firstLine.includes(';') && !firstLine.includes(',') ? ';' : ',';
}

/** A header says which columns are the label and the text. Without one, the first column is the label, the rest the text. */
function readTable(text: string, parsed: Parsed): void {
  const separator = separatorOf(text);
  const [first] = rowsOf(text, separator);
  const heads = (first?.cells ?? []).map((cell) => cell.trim().toLowerCase());
  const [labelAt, textAt] = [placeOf(heads, labelNames), placeOf(heads, textNames)];
  const hasHeader = labelAt >= 0 && textAt >= 0;
  let isHeader = hasHeader;
  for (const { cells, line } of rowsOf(text, separator)) {
    const isBlank = cells.length === 1 && cells[0]?.trim() === '';
    if (isHeader || isBlank) isHeader = false;
    else if (!hasHeader) {
      // A text with separators that was not quoted is still one text.
      add(parsed, { label: cells[0], context: cells.slice(1).join(separator), line });
    } else if (cells.length === heads.length) {
      add(parsed, { label: cells[labelAt], context: cells[textAt], line });
    } else {
      const fields = `${cells.length} field${cells.length === 1 ? '' : 's'}`;
      skip(parsed, { line, detail: `has ${fields}, and the header has ${heads.length}` });
    }
  }
}

export function* rowsOf(text: string, separator: string): Generator<{ cells: string[]; line: number }> {
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  let line = 1;
  let startedAt = 1;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    if (char === '\n') line++;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else quoted = false;
    } else if (char === '"' && cell === '') quoted = true;
    else if (char === separator) {
      cells.push(cell);
      cell = '';
    } else if (char === '\n') {
      cells.push(cell.replace(/\r$/, ''));
      yield { cells, line: startedAt };
      cells = [];
      cell = '';
      startedAt = line;
    } else cell += char;
  }
  if (cell !== '' || cells.length > 0) yield { cells: [...cells, cell], line: startedAt };
}

/** Lists of at most `size`. */
export function* batches<T>(items: T[], size: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
