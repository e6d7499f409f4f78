/** Runs a query that writes for each record of a streamed body: `POST /v1/queries/:queryId/rows`. */

import { isDeepStrictEqual } from 'node:util';
import { type ExecuteRequest, Format, type RecordBatch } from '@datahub/proto/executor/v1/executor';
import { HubError, outcomeUnknown, reword, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { count, object, record } from '../../http/json-schema.ts';
import { readText } from '../../http/query-params.ts';
import { validationError } from '../../http/request-error.ts';
import type { Handler, Route } from '../../http/route.ts';
import { preferredFormat } from '../../response/format.ts';
import { respondWithProgress } from '../../response/progress-response.ts';
import { RecordBatches } from '../../rows/record-batches.ts';
import { isCsv, readChunks, uploadPace } from '../../rows/streamed-body.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function rowsRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/:queryId/rows', scope: 'queries:execute', summary: 'Execute a query that writes for each record', audit: 'query.execute', query: ['commitEvery', 'from'], imports: 'only', body: object({}), response: loaded, handler: createRowsHandler(deps) },
  ];
}

const loaded = record(
  { records: count, affectedRows: count, committedLines: count, recovered: { const: true } },
  ['recovered'],
);

/** What the executor reports. */
interface Progress {
  /** Left out of the answer. */
  batches: number;
  records: number;
  affectedRows: number;
  committedLines: number;
  recovered?: true;
}
type Loaded = Omit<Progress, 'batches'>;
type Report = (progress: Pick<Progress, 'records' | 'affectedRows'>) => void;

const commitEveryMax = 1_000_000;
/** While the executor runs a batch, it binds the next one. */
const batchesAhead = 2;

function createRowsHandler({ upstreams: { executor }, settings: { failMidway } }: ResourceDeps): Handler {
  return (request, reply) => {
    const run = (report: Report) => load(request, { executor, report });
    const hasProgress = preferredFormat(request.headers.accept)?.format === Format.FORMAT_NDJSON;
    return hasProgress ? respondWithProgress(reply, { run, failMidway }) : run(() => {});
  };
}

async function load(
  request: FastifyRequest,
  { executor, report }: { executor: ResourceDeps['upstreams']['executor']; report: Report },
): Promise<Loaded> {
  const commitEvery = readCount(request, 'commitEvery', commitEveryMax);
  const fromLine = readCount(request, 'from', Number.MAX_SAFE_INTEGER) ?? 1;
  const chunks = readChunks(request, uploadPace());
  const batches = new RecordBatches({ chunks, isCsv: isCsv(request), fromLine });
  const first = await batches.next();
  if (first === undefined) throw validationError([{ pointer: '', detail: 'has no records' }]);
  const turns = new Turns();
  let progress: Progress = { batches: 0, records: 0, affectedRows: 0, committedLines: fromLine - 1 };
  const call: ExecuteRequest = {
    queryId: (request.params as { queryId: string }).queryId,
    contextJson: '',
    format: Format.FORMAT_JSON,
    load: { columns: batches.columns, commitEvery },
  };
  try {
    await executor.execute(call, request.context, {
      chunk: (bytes) => {
        const told = JSON.parse(bytes.toString()) as Progress;
        progress = { ...told, committedLines: Math.max(told.committedLines, progress.committedLines) };
        request.context.renewDeadline();
        report({ records: progress.records, affectedRows: progress.affectedRows });
        turns.note(progress.batches);
        return true;
      },
      onDrain: () => {},
      input: inTurns(first, batches, { turns, request }),
    });
  } catch (err) {
    throw interrupted(request, { err, progress, commitEvery });
  } finally {
    await chunks.return(undefined).catch(() => {});
  }
  const { batches: _, ...result } = progress;
  return result;
}

/** Passes the batches on when the executor asks for them. */
async function* inTurns(
  first: RecordBatch,
  batches: RecordBatches,
  { turns, request }: { turns: Turns; request: FastifyRequest },
): AsyncGenerator<RecordBatch, undefined> {
  let sent = 0;
  let known = request.context.principal;
  try {
    for (let batch: RecordBatch | undefined = first; batch !== undefined; batch = await batches.next()) {
      await turns.reach(sent + 1 - batchesAhead);
      await request.context.requireCaller();
      const { principal } = request.context;
      const isSame = isDeepStrictEqual(principal, known);
      known = principal;
      sent++;
      // The call was made with what the caller could do then.
      yield isSame ? batch : { ...batch, caller: principal };
    }
  } catch (err) {
    // An error of an earlier line comes first.
    await turns.reach(sent);
    throw err;
  }
}

/** Waits until the executor has run so many batches. */
class Turns {
  #done = -1;
  #wake = () => {};

  note(batches: number): void {
    this.#done = batches;
    this.#wake();
  }

  async reach(batches: number): Promise<void> {
    while (this.#done < Math.max(0, batches))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}

interface Interrupted {
  err: unknown;
  progress: Progress;
  commitEvery: number | undefined;
}

/** The error says from where an upload with several transactions goes on. */
function interrupted(request: FastifyRequest, { err, progress, commitEvery }: Interrupted): HubError {
  if (request.raw.errored) return new HubError('CANCELLED', 'The client disconnected.', { cause: err });
  const known = toHubError(err instanceof HubError && err.lost ? outcomeUnknown(err) : err);
  if (commitEvery === undefined) return known;
  const { committedLines } = progress;
  return reword(known, `${known.message} The lines up to ${committedLines} are committed.`, {
    committedLines,
  });
}

function readCount(request: FastifyRequest, name: string, max: number): number | undefined {
  const text = readText(request, name);
  if (text === undefined) return undefined;
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw validationError([{ pointer: `query/${name}`, detail: `must be a whole number from 1 to ${max}` }]);
}
