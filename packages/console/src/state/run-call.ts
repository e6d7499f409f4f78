/** The request of a run: of a stored query, or of a draft. */

import type { QueryVersion, Variable } from '../api/types.ts';
import { reads } from './commands.ts';

/** A query that is executed without being stored. */
export interface DraftQuery {
  text: string;
  command: string;
  sourceId: string;
  context: Variable[];
  /** Columns that must not be null in any row. */
  notNull: string[];
  session?: QueryVersion['session'];
}

/** A stored query, with the number of the version that is shown: the hub runs no other one. Or a draft. */
export type RunTarget = { queryId: string; version?: number | undefined } | { draft: DraftQuery };

/** @param context the values as JSON text */
export function toCall(
  target: RunTarget,
  context: string,
  options: Record<string, unknown>,
): { path: string; body: string } {
  // Options that are undefined are left out.
  if ('queryId' in target) {
    const { queryId, version } = target;
    const known = `"queryId":${JSON.stringify(queryId)},"context":${context}`;
    return { path: 'v1/queries/execute', body: withOptions(known, { version, ...options }) };
  }
  const { text, command, sourceId, context: variables, notNull, session } = target.draft;
  const draft = JSON.stringify({
    sourceId,
    query: text,
    command: command === '' ? undefined : command,
    context: variables,
    notNull: reads(command) ? notNull : [],
    session,
  });
  return { path: 'v1/queries/try', body: withOptions(`${draft.slice(1, -1)},"values":${context}`, options) };
}

function withOptions(members: string, options: Record<string, unknown>): string {
  const json = JSON.stringify(options);
  return json === '{}' ? `{${members}}` : `{${members},"options":${json}}`;
}
