/** Summaries of one or several texts. */

import { HubError } from '@datahub/service-kit/call/error';
import { answer, type FromSchema, list, object, text } from '../http/json-schema.ts';
import type { Handler } from '../http/request-context.ts';
import { type FieldPointers, validationError } from '../http/request-error.ts';
import { type ItemRule, requireItems, texts } from '../http/validation.ts';
import type { Upstreams } from '../upstreams.ts';

const passagesMax = 100_000;
const options = object({
  sentences: { type: 'integer', minimum: 1, maximum: 1_000 },
  maxWords: { type: 'integer', minimum: 1, maximum: 100_000 },
  language: { type: 'string', minLength: 2, maxLength: 35 },
});

const context = { type: 'array', minItems: 1 } as const;
/** The handler validates the elements: Ajv would note every fault of a long list. */
export const summarizeBody = object({ context, options }, ['context']);
export const summarizeDocumented = object(
  { context: { ...context, anyOf: [{ items: list(text) }, { items: text }] }, options },
  ['context'],
);
export const summary = answer({ generated: text, generator: text });

export const summarizePointers = (): FieldPointers => ({
  documents: '/context',
  sentences: '/options/sentences',
  maxWords: '/options/maxWords',
  language: '/options/language',
});

const documentRule: ItemRule = {
  isValid: (item) => Array.isArray(item) || typeof item === 'string',
  faultsOf: (_item, pointer) => [{ pointer, detail: 'must be an array or a string' }],
};

/** Requires texts, or lists of texts, and not both. */
function requireTexts(context: unknown[]): void {
  requireItems(context, '/context', documentRule);
  if (context.some((part) => typeof part !== typeof context[0]))
    throw refused('must have arrays or texts, not both');
  for (const [i, part] of context.entries())
    if (Array.isArray(part)) requireItems(part, `/context/${i}`, texts);
}

const refused = (detail: string) => validationError([{ pointer: '/context', detail }]);

export function createSummarizeHandler({ ml }: Upstreams): Handler {
  return async (request): Promise<FromSchema<typeof summary>> => {
    const { context, options } = request.body as FromSchema<typeof summarizeDocumented>;
    requireTexts(context);
    const documents = context.map((part) => ({ passages: typeof part === 'string' ? [part] : part }));
    if (documents.reduce((sum, { passages }) => sum + Math.max(1, passages.length), 0) > passagesMax) {
      throw new HubError('TOO_LARGE', `A request can have at most ${passagesMax} passages.`);
    }
    if (!documents.some(({ passages }) => passages.some((text) => text.trim() !== ''))) {
      throw refused('has no text');
    }
    const { generated, generator } = await ml.summarize({ documents, ...options }, request.context);
    return { generated, generator };
  };
}
