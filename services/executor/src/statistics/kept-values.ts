/** The values of a run that its record keeps. */

import { membersOf, objectOf } from '@datahub/contract/json-text';
import { keptValuesLengthMax } from '@datahub/contract/query-runs';
import type { Execution } from '../execution/execution-state.ts';
import { claimedNames, keyLimits } from '../execution/key-limits.ts';

/**
 * Returns the values that the call sent, as a JSON object: those of variables that the statement uses, without secret
 * ones, pins and claims. Undefined if the query does not keep values, and for calls with longer ones, for records in bulk
 * and for calls that were refused before the statement was known.
 */
export function keptValues(
  execution: Pick<Execution, 'query' | 'prepared' | 'request' | 'formContextJson' | 'ctx'>,
): string | undefined {
  const { query, prepared, request, formContextJson, ctx } = execution;
  const { principal } = ctx;
  if (!query?.keepValues || prepared === undefined || principal === undefined) return undefined;
  if (request.load !== undefined || (request.form !== undefined && formContextJson === undefined))
    return undefined;
  const sent = formContextJson ?? request.contextJson;
  if (sent.length > keptValuesLengthMax) return undefined;
  const pinnedJson = keyLimits.context(principal.limits);
  const left = new Set([
    ...query.variables.flatMap(({ key, secret }) => (secret ? [key] : [])),
    ...(pinnedJson === '' ? [] : Object.keys(JSON.parse(pinnedJson) as object)),
    ...(claimedNames(principal) ?? []),
  ]);
  const used = new Set(prepared.names);
  const members = [...(sent === '' ? [] : membersOf(sent))];
  return objectOf(members.filter(([name]) => used.has(name) && !left.has(name)));
}
