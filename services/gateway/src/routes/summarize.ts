/** Summaries of one or several texts. */

import { HubError } from '@datahub/service-kit/error';
import type { Handler } from '../request.ts';
import { object } from '../schemas.ts';
import type { Upstreams } from '../upstreams.ts';
import { type ItemRule, requireItems, texts } from '../validation.ts';

const passagesMax = 100_000;
const list = { type: 'array', minItems: 1 } as const;
const passages = { type: 'array', items: { type: 'string' } } as const;
const options = object({
  sentences: { type: 'integer', minimum: 1, maximum: 1_000 },
  maxWords: { type: 'integer', minimum: 1, maximum: 100_000 },
  language: { type: 'string', minLength: 2, maxLength: 35 },
});

/** What is in the list is looked at by hand. */
export const summarizeBody = object({ context: list, options }, ['context']);
export const summarizeDocumented = object(
  { context: { ...list, anyOf: [{ items: passages }, { items: { type: 'string' } }] }, options },
  ['context'],
);

const documentLists: ItemRule = {
  fits: (item) => Array.isArray(item),
  faultsOf: (_item, pointer) => [{ pointer, detail: 'must be an array' }],
};

/** Texts, or lists of texts, and not both. */
function requireTexts(context: unknown[]): void {
  const flat = typeof context[0] === 'string';
  requireItems(context, '/context', flat ? texts : documentLists);
  if (flat) return;
  for (const [i, document] of context.entries()) requireItems(document as unknown[], `/context/${i}`, texts);
}

interface SummarizeBody {
  context: string[][] | string[];
  options?: { sentences?: number; maxWords?: number; language?: string };
}

export function createSummarizeHandler({ ml }: Upstreams): Handler {
  return async (request) => {
    const { context, options } = request.body as SummarizeBody;
    requireTexts(context);
    const documents = context.map((part) => ({ passages: typeof part === 'string' ? [part] : part }));
    if (documents.reduce((sum, { passages }) => sum + Math.max(1, passages.length), 0) > passagesMax) {
      throw new HubError('TOO_LARGE', `At most ${passagesMax} passages are summarized at once.`);
    }
    if (!documents.some(({ passages }) => passages.some((text) => text.trim() !== ''))) {
      throw new HubError('VALIDATION', '/context holds no text.', {
        errors: [{ pointer: '/context', detail: 'holds no text' }],
      });
    }
    const { generated, generator } = await ml.summarize({ documents, ...options }, request.context);
    return { generated, generator };
  };
}
