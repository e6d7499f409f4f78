/** Summaries of one or several texts, or of a column of a query's rows. */

import { HubError } from '@datahub/service-kit/call/error';
import { type FromSchema, id, list, object, record, text } from '../http/json-schema.ts';
import { type Fault, type FieldPointers, validationError } from '../http/request-error.ts';
import type { Handler, Route } from '../http/route.ts';
import { type ItemRule, requireItems, texts } from '../http/validation.ts';
import { readColumn } from '../rows/read-column.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function summaryRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/ai/summarize', reference: true, scope: 'ai:summarize', summary: 'Summarize texts', audit: 'text.summarize', body: summarizeBody, documented: summarizeDocumented, pointers: summarizePointers, largeBody: true, reads: true, response: summary, handler: createSummarizeHandler(deps) },
  ];
}

const passagesMax = 100_000;
const options = object({
  sentences: { type: 'integer', minimum: 1, maximum: 1_000 },
  maxWords: { type: 'integer', minimum: 1, maximum: 100_000 },
  language: { type: 'string', minLength: 2, maxLength: 35 },
});

const context = { type: 'array', minItems: 1 } as const;
const column = { type: 'string', minLength: 1, maxLength: 128 } as const;
/** The handler validates the elements, because Ajv would collect every fault of a long list. */
export const summarizeBody = object({
  context: { type: ['array', 'object', 'null'], minItems: 1 },
  queryId: id,
  text: column,
  options,
});
const ofTexts = object(
  { context: { ...context, anyOf: [{ items: list(text) }, { items: text }] }, options },
  ['context'],
);
const ofQuery = object({ queryId: id, context: { type: ['object', 'null'] }, text: column, options }, [
  'queryId',
  'text',
]);
export const summarizeDocumented = { oneOf: [ofTexts, ofQuery] };
export const summary = record(
  {
    generated: text,
    generator: text,
    truncated: {
      const: true,
      description: 'Set if a limit of the key or of the hub cut the rows of the query.',
    },
  },
  ['truncated'],
);

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

/** Throws unless the elements are all texts or all lists of texts. */
function requireTexts(context: unknown[], pointer: string): void {
  requireItems(context, pointer, documentRule);
  if (context.some((part) => typeof part !== typeof context[0]))
    throw validationError([{ pointer, detail: 'must contain only arrays or only strings' }]);
  for (const [i, part] of context.entries())
    if (Array.isArray(part)) requireItems(part, `${pointer}/${i}`, texts);
}

type Texts = FromSchema<typeof ofTexts>['context'];

/** Throws for a body that is neither the form with texts nor the form with a query. */
function requireForm({ context, queryId, text }: FromSchema<typeof summarizeBody>): void {
  const isList = Array.isArray(context);
  const faults: Fault[] = [];
  if (queryId !== undefined) {
    if (text === undefined) faults.push({ pointer: '/text', detail: 'is missing' });
    if (isList)
      faults.push({ pointer: '/context', detail: 'must be an object with the values of variables' });
  } else {
    if (text !== undefined)
      faults.push({ pointer: '/text', detail: 'is allowed only together with queryId' });
    if (context === undefined) faults.push({ pointer: '/context', detail: 'is missing' });
    else if (!isList) faults.push({ pointer: '/context', detail: 'must be an array' });
  }
  if (faults.length > 0) throw validationError(faults);
}

export function createSummarizeHandler({ upstreams, settings }: ResourceDeps): Handler {
  const { ml } = upstreams;
  return async (request): Promise<FromSchema<typeof summary>> => {
    const body = request.body as FromSchema<typeof summarizeBody>;
    requireForm(body);
    const { queryId, text: column = '', options } = body;
    // The texts count until the request is answered.
    const reserve = (bytes: number) => settings.responseBudget.reserve(request, bytes);
    const read =
      queryId === undefined ? undefined : await readColumn(request, { queryId, column, upstreams, reserve });
    const documents =
      read?.texts.map((text) => ({ passages: [text] })) ?? toDocuments(body.context as Texts, '/context');
    const { generated, generator } = await ml.summarize({ documents, ...options }, request.context);
    return { generated, generator, ...(read?.isTruncated ? { truncated: true } : {}) };
  };
}

/** `pointer` leads to the texts in the body. */
export function toDocuments(context: Texts, pointer: string) {
  requireTexts(context as unknown[], pointer);
  const documents = context.map((part) => ({ passages: typeof part === 'string' ? [part] : part }));
  if (documents.reduce((sum, { passages }) => sum + Math.max(1, passages.length), 0) > passagesMax) {
    throw new HubError('TOO_LARGE', `A request can have at most ${passagesMax} passages.`);
  }
  if (!documents.some(({ passages }) => passages.some((text) => text.trim() !== ''))) {
    throw validationError([{ pointer, detail: 'has no text' }]);
  }
  return documents;
}
