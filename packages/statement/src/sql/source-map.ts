/** From a place in the text that was run to the place in the stored text. */

import type { SqlFault } from '@datahub/service-kit/call/error';
import { lineAndColumn } from './lexer.ts';

/**
 * The place is found by what the two texts share before it: placeholders are shorter or longer than names, the rest is
 * the same. Where the database tells a place inside a placeholder, it is the variable's. `isCast`: whether the hub wrote
 * a cast after a placeholder, by its number; any other cast is the statement's own.
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

const placeholderAt = / ?\$(\d+)|= ANY \(|<> ALL \(|\?(?:,\?)*/y;
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
    if (end > target) return s;
    r = end;
    s += variable[0].length;
    // What follows a variable without a blank is parted from the placeholder by one.
    if (placeholder[1] !== undefined && run[r] === ' ' && stored[s] !== ' ') r++;
  }
  return s;
}
