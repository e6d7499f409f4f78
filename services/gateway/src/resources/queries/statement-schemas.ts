/** What a query runs: one text, or the steps of a transaction. */

import { queryLimits } from '@datahub/contract/limits';
import {
  transactionBounds as bounds,
  isolations,
  parseTransaction,
  type StoredTransaction,
  stepNamePattern,
  toTransactionJson,
} from '@datahub/contract/transactions';
import { count, type FromSchema, list, object, record, text } from '../../http/json-schema.ts';
import { validationError } from '../../http/request-error.ts';

const { textLength, commandLength } = queryLimits;
export const queryText = { type: 'string', minLength: textLength.min, maxLength: textLength.max } as const;
export const command = { type: 'string', maxLength: commandLength.max } as const;

export const stepName = { type: 'string', pattern: stepNamePattern } as const;
const pointer = {
  type: 'string',
  minLength: bounds.pointerLength.min,
  maxLength: bounds.pointerLength.max,
} as const;
export const references = {
  type: 'object',
  maxProperties: bounds.references.max,
  additionalProperties: object({ from: stepName, pointer }, ['from', 'pointer']),
} as const;

const rows = { type: 'integer', minimum: 0, maximum: 4_294_967_295 } as const;
const storedStep = object(
  {
    query: queryText,
    command,
    as: stepName,
    options: object({ maxRows: rows, maxAffected: rows, expectRows: rows }),
    references,
  },
  ['query'],
);

/** The members of a body that make a query a transaction; null removes them. */
export const transaction = {
  steps: {
    type: ['array', 'null'],
    minItems: bounds.steps.min,
    maxItems: bounds.steps.max,
    items: storedStep,
  },
  isolation: { type: ['string', 'null'], enum: [...isolations, null] },
  retry: { type: ['boolean', 'null'] },
} as const;

type TransactionBody = { [Name in keyof typeof transaction]?: FromSchema<(typeof transaction)[Name]> };

/** The same in answers. */
export const transactionOf = {
  steps: list(
    record(
      {
        query: text,
        command: text,
        as: text,
        options: record({ maxRows: count, maxAffected: count, expectRows: count }, [
          'maxRows',
          'maxAffected',
          'expectRows',
        ]),
        references: { type: 'object', additionalProperties: record({ from: text, pointer: text }) },
      },
      ['command', 'as', 'options', 'references'],
    ),
  ),
  isolation: { type: 'string', enum: isolations },
  retry: { type: 'boolean' },
} as const;

/** An empty text removes the steps. `at` is the pointer to the members. */
export function readTransaction(
  { steps, isolation, retry }: TransactionBody,
  at: string,
): string | undefined {
  const others = { isolation: isolation ?? undefined, retry: retry ?? undefined };
  if (steps !== undefined && steps !== null)
    return toTransactionJson({ steps, ...others } as StoredTransaction);
  for (const [name, value] of Object.entries(others))
    if (value !== undefined)
      throw validationError([{ pointer: `${at}/${name}`, detail: 'is allowed only together with steps' }]);
  return steps === null ? '' : undefined;
}

/** The text of a body; empty for steps, from which it is derived. */
export function readText({ query, steps }: { query?: string } & Pick<TransactionBody, 'steps'>): string {
  if (query !== undefined) return query;
  if (steps !== undefined && steps !== null) return '';
  throw validationError([{ pointer: '/query', detail: 'is missing; send query, or steps' }]);
}

/** Absent members are left out of answers. */
export function toTransactionAnswer(json: string | undefined) {
  const stored: Partial<StoredTransaction> = json === undefined ? {} : parseTransaction(json);
  const { steps, isolation, retry } = stored;
  return { steps, isolation, retry };
}
