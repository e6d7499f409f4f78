/** Bodies whose lines have the most that one may have, and more. Each line is read in one piece. */

import type { ToCall } from './calls.ts';
import { payloads } from './payloads.ts';

interface Body {
  headers: Record<string, string>;
  body: string;
}

const ndjson = (body: string): Body => ({ headers: { 'content-type': 'application/x-ndjson' }, body });
const csv = (body: string): Body => ({ headers: { 'content-type': 'text/csv' }, body });

const manyMembers = `{${Array.from({ length: 19_900 }, (_, i) => `"m${i}":1`)}}`;
const levels = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;

/** Of `POST /v1/queries/:queryId/rows`, for a variable `a` of JSON. */
export const recordBodies: Record<string, Body> = {
  'many records': ndjson('{"a":1}\n'.repeat(60_000)),
  'large records': ndjson(`{"a":{"a":[${'{},'.repeat(19_000)}1]}}\n`.repeat(3)),
  'records of many members': ndjson(`{"a":${manyMembers}}\n`.repeat(3)),
  'refused field of objects': csv(`a\n"${payloads.objects()}"\n`),
  'refused field of levels': csv(`a\n${levels}\n`),
};

/** Of `POST /v1/classifiers/:classifierId/train`. No line is an example. */
export const exampleBodies: Record<string, Body> = {
  'lines of many members': ndjson(`{"context":${manyMembers}}\n`.repeat(3)),
  'lines of objects': ndjson(`{"context":${payloads.objects()}}\n`.repeat(3)),
  'lines of levels': ndjson(`{"context":${levels}}\n`),
};

export const eachBody = (
  bodies: Record<string, Body>,
  toCall: (sent: Body) => ToCall,
): Record<string, ToCall> =>
  Object.fromEntries(Object.entries(bodies).map(([name, sent]) => [name, toCall(sent)]));
