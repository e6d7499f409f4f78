/** Summaries of one or several texts. */

import { HubError } from '@datahub/service-kit/error';
import type { Handler } from '../request.ts';
import { object } from '../schemas.ts';
import type { Upstreams } from '../upstreams.ts';

const passages = { type: 'array', maxItems: 100_000, items: { type: 'string' } } as const;

export const summarizeBody = object(
  {
    context: {
      type: 'array',
      minItems: 1,
      maxItems: 100_000,
      anyOf: [{ items: passages }, { items: { type: 'string' } }],
    },
    options: object({
      sentences: { type: 'integer', minimum: 1, maximum: 1_000 },
      maxWords: { type: 'integer', minimum: 1, maximum: 100_000 },
      language: { type: 'string', minLength: 2, maxLength: 35 },
    }),
  },
  ['context'],
);

interface SummarizeBody {
  context: string[][] | string[];
  options?: { sentences?: number; maxWords?: number; language?: string };
}

export function createSummarizeHandler({ ml }: Upstreams): Handler {
  return async (request) => {
    const { context, options } = request.body as SummarizeBody;
    const documents = context.map((part) => ({ passages: typeof part === 'string' ? [part] : part }));
    if (!documents.some(({ passages }) => passages.some((text) => text.trim() !== ''))) {
      throw new HubError('VALIDATION', '/context holds no text.', {
        errors: [{ pointer: '/context', detail: 'holds no text' }],
      });
    }
    const { generated, generator } = await ml.summarize({ documents, ...options }, request.context);
    return { generated, generator };
  };
}
