/** Points the members of a query that the hub rejected to their places in its file. */

import { ProblemError } from '@datahub/client';
import type { Fault } from './fault.ts';
import type { QueryFile } from './query-file.ts';

/** Names of members in bodies that files call otherwise. */
const renamed: Readonly<Record<string, string>> = {
  parentNodeId: 'folder',
  sourceId: 'source',
  query: 'text',
};

/** Empty if the error names no member. */
export function toFaults(err: unknown, { file, place, textLine }: QueryFile): Fault[] {
  if (!(err instanceof ProblemError)) return [];
  const errors = err.problem.errors ?? [];
  return errors.map(({ pointer = '', detail = '' }) => {
    const words = pointer
      .split('/')
      .slice(1)
      .filter((word) => word !== 'meta' && word !== 'config');
    const path = words.map((word) => (/^\d+$/.test(word) ? Number(word) : (renamed[word] ?? word)));
    const at = path[0] === 'text' ? { line: textLine, column: 1 } : place(path);
    return { file, ...at, detail: `${path.join('.')} ${detail}` };
  });
}
