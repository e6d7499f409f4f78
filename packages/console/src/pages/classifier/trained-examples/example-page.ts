/** Pages of the examples of a classifier. */

import { call, part } from '../../../api/client.ts';
import { parseExact } from '../../../api/exact.ts';
import type { Answer } from '../../../api/types.ts';

export type Example = Extract<
  Answer<'GET /v1/classifiers/{classifierId}/examples'>[number],
  { exampleId: string }
>;

interface PageOptions {
  /** The id of the example before the page; empty for the first page. */
  after: string;
  /** Only examples with this label; empty for all. */
  label: string;
  limit: number;
  signal?: AbortSignal;
}

/** Resolves to a full page unless it is the last one. The hub's own pages can be shorter. */
export async function readExamples(classifierId: string, { after, label, limit, signal }: PageOptions) {
  const examples: Example[] = [];
  const query = new URLSearchParams({
    ...(label === '' ? {} : { label }),
    ...(after === '' ? {} : { after }),
  });
  for (;;) {
    query.set('limit', String(limit - examples.length));
    const response = await call(`v1/classifiers/${part(classifierId)}/examples?${query}`, { signal });
    examples.push(...parseExact<Example[]>(await response.text()));
    const total = Number(response.headers.get('x-total-count') ?? 0);
    const next = /[?&]after=([^&>]*)/.exec(response.headers.get('link') ?? '')?.[1];
    if (next === undefined || examples.length >= limit)
      return { examples, total, isLast: next === undefined };
    query.set('after', decodeURIComponent(next));
  }
}
