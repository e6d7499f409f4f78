/** Compares two texts by lines. */

import { diffArrays, diffWordsWithSpace } from 'diff';

/** A line of one of the texts, or of both, with its numbers in them. */
export interface DiffLine {
  kind: 'added' | 'removed' | 'same';
  before?: number;
  after?: number;
  text: string;
  /** The text in pieces, if the other text has a line that is much like it. */
  pieces?: Piece[];
}

export interface Piece {
  text: string;
  /** True if the other line does not have it. */
  isNew: boolean;
}

/** Lines that both texts have, which are left out. */
export interface DiffGap {
  kind: 'gap';
  lines: number;
}

/** Equal lines that are shown before and after a change. */
const around = 3;
const timeoutMs = 500;
/** More lines are not readable, and take long to draw. */
const rowsMax = 5_000;
/** Longer lines are not compared by words. */
const lineLengthMax = 2_000;
/** Lines that have less in common are other lines, and not a change of one. */
const commonShareMin = 0.3;

/** Returns undefined if the texts differ too much to be compared or shown. */
export function compareLines(before: string, after: string): (DiffLine | DiffGap)[] | undefined {
  const changes = diffArrays(before.split('\n'), after.split('\n'), { timeout: timeoutMs });
  if (changes === undefined) return undefined;
  const rows: (DiffLine | DiffGap)[] = [];
  let [left, right] = [0, 0];
  for (const [i, { value, added, removed }] of changes.entries()) {
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    const lines = value.map((text): DiffLine => {
      const numbers = {
        ...(added ? {} : { before: ++left }),
        ...(removed ? {} : { after: ++right }),
      };
      return { kind, ...numbers, text };
    });
    if (kind === 'added' && changes[i - 1]?.removed === true)
      markWords(rows.slice(-(changes[i - 1]?.value.length ?? 0)), lines);
    if (kind !== 'same') rows.push(...lines);
    else rows.push(...withGap(lines, { atStart: i === 0, atEnd: i === changes.length - 1 }));
  }
  return rows.length > rowsMax ? undefined : rows;
}

function withGap(lines: DiffLine[], { atStart, atEnd }: { atStart: boolean; atEnd: boolean }) {
  const head = atStart ? 0 : around;
  const tail = atEnd ? 0 : around;
  const gap = lines.length - head - tail;
  // A gap takes a line itself.
  if (gap <= 1) return lines;
  return [...lines.slice(0, head), { kind: 'gap', lines: gap } as const, ...lines.slice(lines.length - tail)];
}

/** Compares each removed line with the added one that takes its place. */
function markWords(removed: (DiffLine | DiffGap)[], added: DiffLine[]): void {
  for (const [i, after] of added.entries()) {
    const before = removed[i];
    if (before === undefined || before.kind === 'gap') return;
    if (before.text.length > lineLengthMax || after.text.length > lineLengthMax) continue;
    const words = diffWordsWithSpace(before.text, after.text);
    const common = words
      .filter((one) => !one.added && !one.removed)
      .reduce((sum, { value }) => sum + value.trim().length, 0);
    if (common < commonShareMin * Math.max(before.text.trim().length, after.text.trim().length)) continue;
    before.pieces = words
      .filter((one) => !one.added)
      .map(({ value, removed }) => ({ text: value, isNew: removed }));
    after.pieces = words
      .filter((one) => !one.removed)
      .map(({ value, added }) => ({ text: value, isNew: added }));
  }
}
