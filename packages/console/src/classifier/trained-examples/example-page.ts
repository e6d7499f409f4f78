/** Pages of the examples of a classifier. */

import { call, part } from '../../api/client.ts';
import { parseExact } from '../../api/exact.ts';

export interface Example {
  exampleId: string;
  label: string;
  context: string;
  trainedAt: string;
}

interface PageOptions {
  /** The id of the example before the page; empty for the first page. */
  after: string;
  limit: number;
  signal?: AbortSignal;
}

export async function readExamples(classifierId: string, { after, limit, signal }: PageOptions) {
  const query = `limit=${limit}${after === '' ? '' : `&after=${part(after)}`}`;
  const response = await call(`v1/classifiers/${part(classifierId)}/examples?${query}`, { signal });
  return {
    examples: parseExact<Example[]>(await response.text()),
    total: Number(response.headers.get('x-total-count') ?? 0),
    isLast: !response.headers.has('link'),
  };
}
