/** Statements of the most pieces. */

import type { Call } from './calls.ts';

const places = `SELECT 1 WHERE 1 IN (${':a,'.repeat(14_000)}:a)`;

/** The body of a check of a text with the most places of a variable. */
export const withPlaces = (sourceId = ''): string =>
  JSON.stringify({ sourceId, query: places, context: [{ key: 'a', type: 'integer' }] });

/** Statements of the most tokens, and of more. */
export const texts = {
  'most tokens': `SELECT 1 WHERE 1 IN (${'1,'.repeat(14_900)}1)`,
  'refused tokens': `SELECT 1 WHERE 1 IN (${'1,'.repeat(131_000)}1)`,
};
export const eachText = (toCall: (query: string) => Call) =>
  Object.fromEntries(Object.entries(texts).map(([name, query]) => [name, toCall(query)]));
