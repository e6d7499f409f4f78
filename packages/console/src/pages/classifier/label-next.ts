/** The texts whose labels teach a classifier most: out of the rows of a query, or out of a file. */

import { LeastCertain } from '@datahub/contract/least-certain';
import { readCharactersMax, uncertainTexts } from '@datahub/contract/limits';
import { call, callJson, part } from '../../api/client.ts';
import { parseExact } from '../../api/exact.ts';
import type { Answer, Prediction } from '../../api/types.ts';
import { count } from '../../ui/format.ts';
import { batches, readTexts } from './examples.ts';

export type Uncertain = Extract<
  Answer<'GET /v1/classifiers/{classifierId}/examples'>[number],
  { scores: unknown }
>;

export interface Asked {
  /** The least certain texts that are not done. */
  texts: Uncertain[];
  /** How many texts were looked through. */
  all: number;
  /** True if there are more, which were not looked through. */
  isCut: boolean;
}

/** `done` is what was labelled or skipped. */
export type Ask = (done: ReadonlySet<string>) => Promise<Asked>;

/** Why there is no text to ask for. */
export function wordsOfEnd({ all, isCut }: Omit<Asked, 'texts'>, done: ReadonlySet<string>): string {
  const more = isCut ? ' There are more, which were not looked through.' : '';
  if (all > done.size)
    return `The ${uncertainTexts.max} least certain of ${count(all)} texts have been labelled or skipped.${more}`;
  return isCut
    ? `The first ${count(all)} texts have been labelled or skipped.${more}`
    : 'Every text has been labelled or skipped.';
}

export const askedAtOnce = uncertainTexts.default;
const batchTexts = 100;

/** `query` has the query, the values of its variables and the column. */
export function askQuery(classifierId: string, query: Record<string, string>): Ask {
  return async (done) => {
    // What was labelled or skipped can still be among the least certain.
    const limit = Math.min(uncertainTexts.max, askedAtOnce + done.size);
    const parameters = new URLSearchParams({ sort: 'uncertain', limit: String(limit), ...query });
    const path = `v1/classifiers/${part(classifierId)}/examples?${parameters}`;
    const response = await call(path);
    const { headers } = response;
    const found = parseExact<Uncertain[]>(await response.text());
    return {
      texts: found.filter(({ context }) => !done.has(context)).slice(0, askedAtOnce),
      all: Number(headers.get('x-total-count')),
      isCut: headers.get('x-truncated') === 'true',
    };
  };
}

/** Texts beyond the number that a query may have are not asked for. */
export function askTexts(classifierId: string, input: string): Ask {
  const given = [...new Set(readTexts(input).map((text) => text.slice(0, readCharactersMax)))];
  const texts = given.slice(0, uncertainTexts.rows);
  return async (done) => {
    const found = new LeastCertain<Uncertain>(askedAtOnce);
    const open = texts.filter((text) => !done.has(text));
    for (const contexts of batches(open, batchTexts)) {
      const path = `v1/classifiers/${part(classifierId)}/predict`;
      const body = { contexts, options: { top: uncertainTexts.scores } };
      const { predictions } = await callJson<{ predictions: Prediction[] }>(path, { body });
      predictions.forEach(({ label, confidence, scores }, i) => {
        found.add({ context: contexts[i] ?? '', label, confidence, scores }, scores);
      });
    }
    return { texts: found.items(), all: texts.length, isCut: texts.length < given.length };
  };
}
