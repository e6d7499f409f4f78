/** Summaries of one or several texts. */

import { HubError } from '@datahub/service-kit/error';
import type { Handler } from '../request.ts';
import { object } from '../schemas.ts';
import type { Upstreams } from '../upstreams.ts';

/** A document, or its only passage. */
const part = { type: ['array', 'string'], items: { type: 'string' } } as const;
const passagesMax = 100_000;

export const summarizeBody = object(
  {
    context: { type: 'array', minItems: 1, items: part },
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
    if (context.some((part) => typeof part !== typeof context[0]))
      throw refused('must hold arrays or texts, not both');
    const documents = context.map((part) => ({ passages: typeof part === 'string' ? [part] : part }));
    if (documents.reduce((sum, { passages }) => sum + Math.max(1, passages.length), 0) > passagesMax) {
      throw new HubError('TOO_LARGE', `At most ${passagesMax} passages are summarized at once.`);
    }
    if (!documents.some(({ passages }) => passages.some((text) => text.trim() !== ''))) {
      throw refused('holds no text');
    }
    const { generated, generator } = await ml.summarize({ documents, ...options }, request.context);
    return { generated, generator };
  };
}

const refused = (detail: string) =>
  new HubError('VALIDATION', `/context ${detail}.`, { errors: [{ pointer: '/context', detail }] });
