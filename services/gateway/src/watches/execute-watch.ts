/** Executes the query of a watch and reads what it found. */

import type { WatchSettings } from '@datahub/proto/catalog/v1/watches';
import { CallForm, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { RowReader } from '../rows/row-reader.ts';
import { executeInto, stoppable } from '../rows/stoppable.ts';
import type { Upstreams } from '../upstreams.ts';
import { type Before, comparedBytesOf, type Found, FoundRows } from './found-rows.ts';
import { PlaceLost, type RunMemory } from './run-memory.ts';

/** The rows of the run before, which are read when there are rows to compare with them. */
export interface RunBefore {
  rows: number;
  read(): Promise<Before | undefined>;
}

export interface WatchExecution {
  settings: WatchSettings;
  /** True if the query writes. */
  writes: boolean;
  /** True to undo what it writes. */
  dryRun: boolean;
  /** Of the query; the one that is executed. Absent if it does not matter. */
  version?: number;
  /** The run before. Absent if there is none to compare with. */
  before: RunBefore | undefined;
  executor: Pick<Upstreams['executor'], 'execute'>;
  ctx: CallContext;
  memory: RunMemory;
}

/** A run that has so often lost its place fails. */
const triesMax = 3;

/** The query has written, and what it returned cannot be told. */
export class Untold extends HubError {
  constructor(cause: HubError) {
    super(cause.code, `The query has written, and its rows cannot be told: ${cause.message}`, { cause });
  }
}

/**
 * Throws RESULT_TRUNCATED if a limit cut the rows, PlaceLost, and the errors of `FoundRows` and of executions. What is wrong
 * with the rows of a write does not end its execution, and is Untold.
 */
export async function executeWatch(options: WatchExecution): Promise<Found> {
  const { ctx, memory } = options;
  for (let tries = 1; ; tries++) {
    const { ctx: ofTry, stop } = stoppable(ctx);
    memory.begin(stop);
    try {
      return await executeOnce({ ...options, ctx: ofTry }, stop);
    } catch (err) {
      if (!(err instanceof PlaceLost) || !memory.mayRepeat || tries >= triesMax) throw err;
      await memory.awaitPlace(ctx.signal);
    }
  }
}

async function executeOnce(options: WatchExecution, stop: CallStop): Promise<Found> {
  const { settings, writes, dryRun, version, before, executor, ctx, memory } = options;
  const keepsRunning = writes && !dryRun;
  let found: FoundRows | undefined;
  let fault: unknown;
  // What rows are compared with is not kept while the query has none.
  const begin = async () => {
    await memory.keep(comparedBytesOf(before?.rows ?? 0));
    return new FoundRows(settings, await before?.read());
  };
  const use = async (rows: Parameters<FoundRows['add']>[0][]) => {
    found ??= await begin();
    if (fault === undefined) fault = faultOf(found, rows);
    if (fault !== undefined && !keepsRunning) throw fault;
    await memory.keep(found.keptBytes);
  };
  const reader = new RowReader({ use, stop });
  const execution = {
    queryId: settings.queryId,
    contextJson: settings.contextJson,
    options: { dryRun, meta: false, numbersAsStrings: false, version },
    format: Format.FORMAT_NDJSON,
    callForm: CallForm.CALL_FORM_WATCH,
    onlyReads: !writes,
    cache: { bypass: true, etags: [], anyEtag: false },
  };
  await executeInto(reader, { executor, execution, ctx });
  try {
    if (fault !== undefined) throw fault;
    if (reader.isTruncated)
      throw new HubError('RESULT_TRUNCATED', 'A limit of the key or of the hub cut the rows of the query.');
    return await (found ?? (await begin())).finish();
  } catch (err) {
    throw keepsRunning && err instanceof HubError ? new Untold(err) : err;
  }
}

/** What is wrong with one of the rows. */
function faultOf(found: FoundRows, rows: Parameters<FoundRows['add']>[0][]): unknown {
  try {
    for (const row of rows) found.add(row);
    return undefined;
  } catch (err) {
    return err;
  }
}
