/** The name of the prepared statements of a query on a connection. */

import { hash } from 'node:crypto';
import type { QueryDefinition } from '../definitions/definition.ts';

/**
 * Different for each query, version and text: a catalog that was restored from a backup gives the numbers of lost versions
 * to other texts, and connections may still have those prepared.
 */
export function statementKey({
  queryId,
  versionNumber,
  text,
  variables,
}: Pick<QueryDefinition, 'queryId' | 'versionNumber' | 'text' | 'variables'>): string {
  const types = variables.map(({ key, type }) => [key, type]);
  const digest = hash('sha256', JSON.stringify([text, types]), 'base64url').slice(0, 16);
  return `${queryId}.${versionNumber}.${digest}`;
}
