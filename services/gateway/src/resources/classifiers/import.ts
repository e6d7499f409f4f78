/** Trains with a streamed body of CSV or NDJSON. Faulty lines are skipped and reported. */

import { excessOf } from '@datahub/contract/json-text';
import { cutText } from '@datahub/contract/limits';
import { Format } from '@datahub/proto/executor/v1/executor';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { count, type FromSchema, list, record, text } from '../../http/json-schema.ts';
import { readText } from '../../http/query-params.ts';
import { faultsMax, validationError } from '../../http/request-error.ts';
import { requireKnownParameters } from '../../http/route.ts';
import { preferredFormat } from '../../response/format.ts';
import { respondWithProgress } from '../../response/progress-response.ts';
import type { ResponseSettings } from '../../response/streamed-response.ts';
import { parseCsvRecord, type RawRecord, RecordSplitter } from '../../rows/records.ts';
import { isCsv as isCsvBody, readChunks } from '../../rows/streamed-body.ts';
import type { Upstreams } from '../../upstreams.ts';
import { faultsOfExample } from './examples.ts';

/** The names of the columns in the header of CSV. */
export const importParameters = ['text', 'label'];
export const imported = record({
  trained: count,
  skipped: count,
  faults: list(record({ line: count, detail: text })),
});

type Imported = FromSchema<typeof imported>;
interface Example {
  label: string;
  context: string;
}

/** The learner reads 20,000 characters of a text. Escaped in JSON these take at most 120,000 bytes. */
const recordBytesMax = 1_048_576;
const batchMax = 500;
const batchCharactersMax = 1_000_000;
/** With thousands of classes a whole batch can take longer than a request may. A batch that takes longer makes the next one smaller. */
const batchMsMax = 5_000;

export interface ImportOptions {
  classifierId: string;
  ml: Upstreams['ml'];
  settings: ResponseSettings;
}

/** Answers with the result as JSON, or in NDJSON with the progress before it. */
export function answerImport(
  request: FastifyRequest,
  reply: FastifyReply,
  { settings: { failMidway }, ...options }: ImportOptions,
): Promise<unknown> {
  const run = (report: Report) => importExamples(request, { ...options, report });
  const hasProgress = preferredFormat(request.headers.accept)?.format === Format.FORMAT_NDJSON;
  return hasProgress ? respondWithProgress(reply, { run, failMidway }) : run(() => {});
}

type Report = (progress: Pick<Imported, 'trained' | 'skipped'>) => void;

async function importExamples(
  request: FastifyRequest,
  { classifierId, ml, report }: Omit<ImportOptions, 'settings'> & { report: Report },
): Promise<Imported> {
  const isCsv = isCsvBody(request);
  requireKnownParameters(request, isCsv ? importParameters : []);
  const columns = {
    label: readText(request, 'label') ?? 'label',
    context: readText(request, 'text') ?? 'context',
  };
  const reader = createExampleReader(isCsv ? createCsvReader(columns) : parseJson);
  const result: Imported = { trained: 0, skipped: 0, faults: [] };
  const reportProgress = () => report({ trained: result.trained, skipped: result.skipped });
  let batch: Example[] = [];
  let characters = 0;
  let batchSize = batchMax;
  const train = async () => {
    if (batch.length === 0) return;
    if (request.context.signal.aborted) throw request.context.signal.reason;
    await request.context.requireCaller();
    const examples = batch;
    batch = [];
    characters = 0;
    const startedAt = performance.now();
    await ml.train({ classifierId, examples, eventId: '' }, request.context);
    batchSize = nextBatchSize(examples.length, performance.now() - startedAt);
    result.trained += examples.length;
    request.context.renewDeadline();
    reportProgress();
  };
  const endOfTurn = createLoopYield();
  const take = async (records: Iterable<RawRecord>) => {
    for (const record of records) {
      await endOfTurn();
      const read = reader(record);
      if (read === undefined) continue;
      if (typeof read === 'string') {
        result.skipped += 1;
        if (result.faults.length < faultsMax) result.faults.push({ line: record.line, detail: read });
        continue;
      }
      batch.push(read);
      characters += read.context.length;
      if (batch.length >= batchSize || characters >= batchCharactersMax) await train();
    }
  };
  try {
    const splitter = new RecordSplitter({ isCsv, bytesMax: recordBytesMax });
    for await (const chunk of readChunks(request)) {
      await take(splitter.push(chunk));
      reportProgress();
    }
    await take(splitter.end());
    await train();
  } catch (err) {
    throw interrupted(request, result, err);
  }
  if (result.trained + result.skipped === 0)
    throw validationError([{ pointer: '', detail: 'has no examples' }]);
  return result;
}

/** The number of examples that take at most `batchMsMax`, when so many took so long. */
export const nextBatchSize = (examples: number, ms: number): number =>
  Math.max(1, Math.min(batchMax, Math.floor((examples * batchMsMax) / Math.max(ms, 1))));

/** The error says how much was trained before it. */
function interrupted(request: FastifyRequest, { trained }: Imported, err: unknown): HubError {
  if (request.raw.errored) return new HubError('CANCELLED', 'The client disconnected.', { cause: err });
  const known = toHubError(err);
  if (trained === 0) return known;
  const message = `${known.message} Before this, the first ${trained} valid examples of the body were trained.`;
  const { code, retryable, retryAfterMs, lost } = known;
  return new HubError(code, message, { cause: err, retryable, retryAfterMs, lost });
}

/** Returns the example of a record, what is wrong with it, or undefined for the header of a CSV file. */
function createExampleReader(
  read: (text: string) => object | string | undefined,
): (record: RawRecord) => Example | string | undefined {
  let isFirst = true;
  return ({ text, fault }) => {
    if (text === undefined) return fault;
    const found = read(isFirst ? text.replace(/^\ufeff/, '') : text);
    isFirst = false;
    if (typeof found !== 'object') return found;
    const faults = faultsOfExample(found, '');
    if (faults.length > 0)
      return faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; ');
    const { label, context } = found as Example;
    return { label, context };
  };
}

function parseJson(text: string): object | string {
  const excess = excessOf(text);
  if (excess !== undefined) return excess;
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    return 'is not valid JSON';
  }
  return 'must be a JSON object';
}

/** `columns` names the column of each member of an example. */
function createCsvReader(columns: Example): (text: string) => object | string | undefined {
  let header: string[] | undefined;
  return (text) => {
    const fields = parseCsvRecord(text);
    if (header === undefined) {
      header = readHeader(fields, columns);
      return undefined;
    }
    if (typeof fields === 'string') return fields;
    if (fields.length !== header.length)
      return `has ${fields.length} field${fields.length === 1 ? '' : 's'}, and the header has ${header.length}`;
    return { label: fields[header.indexOf(columns.label)], context: fields[header.indexOf(columns.context)] };
  };
}

function readHeader(fields: string[] | string, { label, context }: Example): string[] {
  if (typeof fields === 'string')
    throw validationError([{ pointer: '', detail: `has a first line, the header, that ${fields}` }]);
  const faults = [label, context].flatMap((name) => {
    const times = fields.filter((one) => one === name).length;
    if (times === 1) return [];
    const detail =
      times === 0
        ? `is not in the first line, the header, ${describeHeader(fields)}`
        : 'is twice in the header';
    return [{ pointer: `/${toPointer(name)}`, detail }];
  });
  if (faults.length > 0) throw validationError(faults);
  return fields;
}

const shownMax = 10;
const shownCharactersMax = 100;
const shorten = (name: string) => JSON.stringify(cutText(name, shownCharactersMax));

function describeHeader(names: string[]): string {
  const more = names.length - shownMax;
  const shown = names.slice(0, shownMax).map(shorten).join(', ');
  return `which has ${shown}${more > 0 ? ` and ${more} more` : ''}; choose columns as in ?text=subject&label=topic`;
}

/** A name as a part of a JSON pointer (RFC 6901). */
const toPointer = (name: string) =>
  cutText(name, shownCharactersMax).replaceAll('~', '~0').replaceAll('/', '~1');
