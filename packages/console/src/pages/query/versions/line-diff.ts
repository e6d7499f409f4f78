/** Compares two texts by lines. */

import { diffArrays } from 'diff';

/** A line of one of the texts, or of both, with its numbers in them. */
export interface DiffLine {
  kind: 'added' | 'removed' | 'same';
  before?: number;
  after?: number;
  text: string;
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
