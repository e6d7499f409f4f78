/** Writes results: tables on a terminal, JSON elsewhere; progress only on a terminal. */

import type { Context } from './command.ts';
import { ExactNumber, writeExact } from './exact-numbers.ts';
import { type Colour, visible } from './screen.ts';

export const print = ({ stdout }: Pick<Context, 'stdout'>, text: string): void => {
  stdout.write(text.endsWith('\n') ? text : `${text}\n`);
};

/** A line for people, beside the result. */
export const note = ({ stderr }: Pick<Context, 'stderr'>, line: string, colour?: Colour): void => {
  stderr.write(line, colour);
  stderr.write('\n');
};

export const printJson = (context: Pick<Context, 'stdout'>, value: unknown): void =>
  print(context, writeExact(value, 2));

/** Rows as a table on a terminal, else as JSON. */
export function printRows(
  context: Pick<Context, 'stdout' | 'json'>,
  rows: readonly Readonly<Record<string, unknown>>[],
): void {
  const { stdout, json } = context;
  if (json || !stdout.isTTY) printJson(context, rows);
  else stdout.write(createTable(stdout.columns)(rows) || 'nothing\n');
}

const widthMax = 60;

/**
 * Returns a function that lays out rows. The first call fixes the columns and their widths; `left` gets the names of
 * members that only later rows have.
 */
export function createTable(
  terminalWidth = 0,
  left = new Set<string>(),
): (rows: readonly Readonly<Record<string, unknown>>[]) => string {
  let columns: { name: string; title: string; width: number }[] | undefined;
  let known = new Set<string>();
  const line = (cells: readonly string[], all: readonly { width: number }[]) =>
    `${cells.map((cell, i) => fit(cell, all[i]?.width ?? 0)).join('  ')}`.trimEnd();
  return (rows) => {
    if (rows.length === 0) return '';
    const lines: string[] = [];
    if (columns === undefined) {
      known = new Set(rows.flatMap((row) => Object.keys(row)));
      columns = [...known].map((name) => {
        const title = toCell(name);
        const least = [...title].length;
        const widest = rows.reduce((width, row) => Math.max(width, [...toCell(row[name])].length), least);
        return { name, title, width: Math.min(widest, widthMax) };
      });
      lines.push(
        line(
          columns.map(({ title }) => title),
          columns,
        ),
        line(
          columns.map(({ width }) => '─'.repeat(width)),
          columns,
        ),
      );
    }
    const all = columns;
    for (const name of rows.flatMap((row) => Object.keys(row))) if (!known.has(name)) left.add(name);
    for (const row of rows)
      lines.push(
        line(
          all.map(({ name }) => toCell(row[name])),
          all,
        ),
      );
    const shown = terminalWidth > 0 ? lines.map((text) => [...text].slice(0, terminalWidth).join('')) : lines;
    return `${shown.join('\n')}\n`;
  };
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text =
    typeof value === 'string' ? value : value instanceof ExactNumber ? value.digits : writeExact(value);
  return visible(text.replaceAll(/[\t\n\r]/g, ' '));
}

function fit(cell: string, width: number): string {
  const characters = [...cell];
  if (characters.length > width) return `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
  return cell + ' '.repeat(width - characters.length);
}

export interface Progress {
  show(text: string): void;
  /** Clears the line. */
  end(): void;
}

const progressMs = 200;

/** One line on a terminal that is written again and again; nothing elsewhere. */
export function createProgress({ stderr }: Pick<Context, 'stderr'>, nowMs: () => number): Progress {
  let shownAt = 0;
  return {
    show: (text) => {
      if (nowMs() - shownAt < progressMs) return;
      shownAt = nowMs();
      stderr.rewriteLine(text);
    },
    end: () => {
      if (shownAt > 0) stderr.rewriteLine('');
    },
  };
}

const barWidth = 30;

export function toBar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * barWidth);
  return `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${Math.floor(share * 100)} %`;
}

export const countOf = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;
