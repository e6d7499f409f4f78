/** From a place in the text that was run to the place in the stored text. */

import type { SqlFault } from '@datahub/service-kit/error';
import { lineAndColumn } from './lexer.ts';

/**
 * The place is found by what the two texts share before it: placeholders are shorter or longer than names, the rest is
 * the same. Where the database tells a place inside a placeholder, it is the variable's.
 */
export function toStored(stored: string, run: string, fault: SqlFault): SqlFault {
  if (fault.line === undefined || fault.column === undefined) return fault;
  const offset = offsetOf(run, fault.line, fault.column);
  return { ...fault, ...lineAndColumn(stored, storedOffset(stored, run, offset)) };
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split('\n').slice(0, line - 1);
  const start = lines.reduce((sum, one) => sum + one.length + 1, 0);
  return start + [...text.slice(start)].slice(0, column - 1).join('').length;
}

const placeholderAt = / ?\$\d+(::(double precision|[a-z]+)(\[\])?)?|= ANY \(|<> ALL \(|\?(,\?)*/y;
const variableAt = /:[A-Za-z_]\w*|\{\{\s*\w+\s*\}\}|(NOT\s+)?IN\s*\(\s*/iy;

function storedOffset(stored: string, run: string, target: number): number {
  let [s, r] = [0, 0];
  while (r < target && s < stored.length) {
    if (stored[s] === run[r]) {
      s++;
      r++;
      continue;
    }
    placeholderAt.lastIndex = r;
    variableAt.lastIndex = s;
    const placeholder = placeholderAt.exec(run);
    const variable = variableAt.exec(stored);
    if (placeholder === null || variable === null || r + placeholder[0].length > target) return s;
    r += placeholder[0].length;
    s += variable[0].length;
  }
  return s;
}
