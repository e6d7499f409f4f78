/** The texts of a query's rows whose labels would teach a classifier most. */

import { hash } from 'node:crypto';
import { LeastCertain } from '@datahub/contract/least-certain';
import { uncertainTexts as bounds, readCharactersMax } from '@datahub/contract/limits';
import { Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FromSchema, list, record, text } from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readText, requireText } from '../../http/query-params.ts';
import { validationError } from '../../http/request-error.ts';
import { requireGranted } from '../../http/route.ts';
import { repeated } from '../../rows/repeated.ts';
import { type Row, RowReader, toText } from '../../rows/row-reader.ts';
import { executeInto, stoppable } from '../../rows/stoppable.ts';
import type { Upstreams } from '../../upstreams.ts';
import { share } from './evaluation.ts';

export const uncertainText = record({
  context: text,
  label: text,
  confidence: share,
  scores: list(record({ classId: text, label: text, confidence: share })),
});
export const uncertainParameters = ['sort', 'queryId', 'text', 'context'] as const;

type UncertainText = FromSchema<typeof uncertainText>;

/** The most texts that one call predicts. */
const batchTexts = 100;
const batchCharacters = 200_000;

/** Answers the texts, the least certain first. Of a query with more rows, the first ones count. */
export async function readUncertain(
  request: FastifyRequest,
  reply: FastifyReply,
  { classifierId, upstreams: { ml, executor } }: { classifierId: string; upstreams: Upstreams },
): Promise<UncertainText[]> {
  requireGranted(request, 'classifiers:predict');
  requireGranted(request, 'queries:execute');
  const [queryId, column] = [requireText(request, 'queryId'), requireText(request, 'text')];
  const contextJson = readContext(request);
  const limit =
    readPage(request, { limitDefault: bounds.default, limitMax: bounds.max }).limit ?? bounds.default;
  const { ctx, stop } = stoppable(request.context);
  const predictor = new Predictor(ml, { classifierId, ctx, stop });
  // This refuses a classifier that does not exist or was never trained before the query runs.
  await predictor.predict(['a text']);
  const found = new LeastCertain<UncertainText>(Math.max(1, limit));
  const seen = new Set<string>();
  let isKnown = false;
  let rowCount = 0;
  const use = async (rows: Row[]) => {
    const texts: string[] = [];
    for (const { values } of rows) {
      rowCount += 1;
      if (typeof values === 'string') continue;
      isKnown ||= values.has(column);
      const text = (toText(values.get(column)) ?? '').slice(0, readCharactersMax).toWellFormed();
      const digest = hash('sha256', text, 'base64url');
      if (!/\S/.test(text) || seen.has(digest)) continue;
      seen.add(digest);
      texts.push(text);
    }
    for (const batch of batches(texts))
      for (const one of await predictor.predict(batch)) found.add(one, one.scores);
  };
  request.use = { action: 'query.execute', resourceId: queryId };
  const reader = new RowReader({ use, stop });
  const options = { dryRun: false, meta: false, numbersAsStrings: false, maxRows: predictor.rowsMax };
  const execution = {
    queryId,
    contextJson,
    options,
    format: Format.FORMAT_NDJSON,
    onlyReads: true,
    refusesSecrets: true,
  };
  await executeInto(reader, { executor, execution, ctx }).catch((err) => {
    // The statement waits while its texts are predicted, so it is not what takes long.
    throw predictor.isBusy && isTimeout(err) ? predictedTooSlowly() : err;
  });
  if (rowCount > 0 && !isKnown)
    throw validationError([{ pointer: 'query/text', detail: 'is not a column of any row' }]);
  reply.header('x-total-count', String(seen.size));
  // The answer is a list, which cannot say it.
  if (reader.isTruncated) reply.header('x-truncated', 'true');
  return limit === 0 ? [] : found.items();
}

interface PredictOptions {
  classifierId: string;
  ctx: CallContext;
  stop: CallStop;
}

class Predictor {
  readonly #ml: Pick<Upstreams['ml'], 'predict'>;
  readonly #options: PredictOptions;
  /** The most rows of which the texts are predicted, from the first prediction on. */
  rowsMax: number = bounds.rows;
  /** True while texts are predicted. */
  isBusy = false;

  constructor(ml: Pick<Upstreams['ml'], 'predict'>, options: PredictOptions) {
    this.#ml = ml;
    this.#options = options;
  }

  async predict(contexts: string[]): Promise<UncertainText[]> {
    const { classifierId, ctx, stop } = this.#options;
    this.isBusy = true;
    const call = () => this.#ml.predict({ classifierId, contexts, top: bounds.scores }, ctx);
    const { predictions, classes } = await repeated(call, stop).catch((err) => {
      throw isTimeout(err) ? predictedTooSlowly() : err;
    });
    this.isBusy = false;
    this.rowsMax = Math.min(bounds.rows, Math.floor(bounds.computed / Math.max(1, classes)));
    return predictions.map(({ scores }, i) => ({
      context: contexts[i] ?? '',
      label: scores[0]?.label ?? '',
      confidence: scores[0]?.confidence ?? 0,
      scores: scores.map(({ classId, label, confidence }) => ({ classId, label, confidence })),
    }));
  }
}

const isTimeout = (err: unknown): boolean =>
  (err instanceof HubError && err.code === 'STATEMENT_TIMEOUT') ||
  (err instanceof Error && err.name === 'TimeoutError');

const predictedTooSlowly = () =>
  new HubError(
    'UNAVAILABLE',
    'The classifier did not predict all texts of the query in time. Return fewer rows, or try again later.',
    { retryable: true },
  );

function* batches(texts: string[]): Generator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (batch.length === batchTexts || (batch.length > 0 && characters + text.length > batchCharacters)) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(text);
    characters += text.length;
  }
  if (batch.length > 0) yield batch;
}

/** The values of the query's variables, as JSON. The executor reads them, so numbers keep their digits. */
function readContext(request: FastifyRequest): string {
  const context = readText(request, 'context') ?? '';
  if (context === '') return '';
  try {
    const value: unknown = JSON.parse(context);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return context;
  } catch {
    // The fault below names it.
  }
  throw validationError([
    { pointer: 'query/context', detail: 'must be a JSON object with the values of variables' },
  ]);
}
