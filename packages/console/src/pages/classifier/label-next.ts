/** The texts whose labels teach a classifier most: out of the rows of a query, or out of a file. */

import { LeastCertain } from '@datahub/contract/least-certain';
import { readCharactersMax, uncertainTexts } from '@datahub/contract/limits';
import { callJson, part } from '../../api/client.ts';
import type { Answer, Prediction } from '../../api/types.ts';
import { batches, readTexts } from './examples.ts';

export type Uncertain = Extract<
  Answer<'GET /v1/classifiers/{classifierId}/examples'>[number],
  { scores: unknown }
>;

/** Resolves to the least certain texts that are not in `done`. */
export type Ask = (done: ReadonlySet<string>) => Promise<Uncertain[]>;

export const askedAtOnce = uncertainTexts.default;
const batchTexts = 100;

/** `query` has the query, the values of its variables and the column. */
export function askQuery(classifierId: string, query: Record<string, string>): Ask {
  return async (done) => {
    // What was labelled or skipped can still be among the least certain.
    const limit = Math.min(uncertainTexts.max, askedAtOnce + done.size);
    const parameters = new URLSearchParams({ sort: 'uncertain', limit: String(limit), ...query });
    const path = `v1/classifiers/${part(classifierId)}/examples?${parameters}`;
    const found = await callJson<Uncertain[]>(path, {});
    return found.filter(({ context }) => !done.has(context)).slice(0, askedAtOnce);
  };
}

/** Texts beyond the number that a query may have are not asked for. */
export function askTexts(classifierId: string, input: string): Ask {
  const texts = [...new Set(readTexts(input).map((text) => text.slice(0, readCharactersMax)))];
  return async (done) => {
    const found = new LeastCertain<Uncertain>(askedAtOnce);
    const open = texts.slice(0, uncertainTexts.rows).filter((text) => !done.has(text));
    for (const contexts of batches(open, batchTexts)) {
      const path = `v1/classifiers/${part(classifierId)}/predict`;
      const body = { contexts, options: { top: uncertainTexts.scores } };
      const { predictions } = await callJson<{ predictions: Prediction[] }>(path, { body });
      predictions.forEach(({ label, confidence, scores }, i) => {
        found.add({ context: contexts[i] ?? '', label, confidence, scores }, scores);
      });
    }
    return found.items();
  };
}
