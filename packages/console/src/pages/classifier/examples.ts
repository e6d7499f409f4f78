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
export const textNames = ['context', 'text', 'body', 'message', 'comment', 'subject'];
export const labelNames = ['label', 'class', 'category', 'tag', 'team'];

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
  const at = heads.findIndex((head) => textNames.includes(head));
  const texts = at < 0 ? text.split('\n') : rows.slice(1).map(({ cells }) => cells[at] ?? '');
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
    return;
  }
  parsed.skipped++;
  if (parsed.faults.length < faultsMax) parsed.faults.push({ line, detail: 'needs a label and a text' });
}

function readNdjson(text: string, parsed: Parsed): void {
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const row = JSON.parse(line) as Record<string, unknown>;
      const find = (names: string[]) => names.map((name) => row[name]).find((value) => value !== undefined);
      add(parsed, { label: find(labelNames), context: find(textNames), line: i + 1 });
    } catch {
      parsed.skipped++;
      if (parsed.faults.length < faultsMax)
        parsed.faults.push({ line: i + 1, detail: 'is not a JSON object' });
    }
  }
}

function separatorOf(text: string): string {
  const firstLine = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'));
  return firstLine.includes('\t') ? '\t' : firstLine.includes(';') && !firstLine.includes(',') ? ';' : ',';
}

/** With a head, or the label in the first column and the text in the second. */
function readTable(text: string, parsed: Parsed): void {
  const separator = separatorOf(text);
  let [labelAt, textAt] = [0, 1];
  let isFirst = true;
  for (const { cells, line } of rowsOf(text, separator)) {
    if (isFirst) {
      isFirst = false;
      const heads = cells.map((cell) => cell.trim().toLowerCase());
      const label = heads.findIndex((head) => labelNames.includes(head));
      const context = heads.findIndex((head) => textNames.includes(head));
      if (label >= 0 && context >= 0) {
        [labelAt, textAt] = [label, context];
        continue;
      }
    }
    if (cells.length === 1 && cells[0]?.trim() === '') continue;
    // A text with separators that was not quoted is still one text.
    const rest =
      textAt === 1 && labelAt === 0 && cells.length > 2 ? cells.slice(1).join(separator) : cells[textAt];
    add(parsed, { label: cells[labelAt], context: rest, line });
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
