/** Maps a position in the text that ran to the position in the stored text. */

import type { SqlFault } from '@datahub/service-kit/call/error';
import { lineAndColumn } from './lexer.ts';
import { noElement, placeholderMarks } from './mysql.ts';

/**
 * Walks both texts up to the position: they differ only where a variable was replaced by a placeholder. A position inside
 * a placeholder maps to the variable. `isCast` says whether the hub wrote a cast after the placeholder of that number;
 * all other casts are part of the stored statement.
 */
export function toStored(
  { stored, run, isCast }: { stored: string; run: string; isCast: (placeholder: number) => boolean },
  fault: SqlFault,
): SqlFault {
  if (fault.line === undefined || fault.column === undefined) return fault;
  const target = offsetOf(run, fault.line, fault.column);
  return { ...fault, ...lineAndColumn(stored, storedOffset({ stored, run, isCast }, target)) };
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split('\n').slice(0, line - 1);
  const start = lines.reduce((sum, one) => sum + one.length + 1, 0);
  return start + [...text.slice(start)].slice(0, column - 1).join('').length;
}

const escaped = (text: string) => text.replaceAll(/[()?$]/g, '\\$&');
const marks = placeholderMarks.map(escaped).map((mark) => `${mark}(?:,${mark})*`);
const placeholderAt = new RegExp(
  [' ?\\(?\\$(\\d+)|= ANY \\(|<> ALL \\(', noElement, ...marks].join('|'),
  'y',
);
const castAt = /::(?:double precision|[a-z]+)(?:\[\])?/y;
const variableAt = /:[A-Za-z_]\w*|\{\{\s*\w+\s*\}\}|(NOT\s+)?IN\s*\(\s*/iy;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function storedOffset(
  { stored, run, isCast }: { stored: string; run: string; isCast: (placeholder: number) => boolean },
  target: number,
): number {
  let [s, r] = [0, 0];
  while (r < target && s < stored.length) {
    if (stored[s] === run[r]) {
      s++;
      r++;
      continue;
    }
    const placeholder = matchAt(placeholderAt, run, r);
    const variable = matchAt(variableAt, stored, s);
    if (placeholder === null || variable === null) return s;
    let end = r + placeholder[0].length;
    if (placeholder[1] !== undefined && isCast(Number(placeholder[1])))
      end += matchAt(castAt, run, end)?.[0].length ?? 0;
    if (placeholder[0].includes('($')) end += ')'.length;
    if (end > target) return s;
    r = end;
    s += variable[0].length;
    // The hub adds a blank after a placeholder if a word follows the variable directly.
    if (placeholder[1] !== undefined && run[r] === ' ' && stored[s] !== ' ') r++;
  }
  return s;
}
