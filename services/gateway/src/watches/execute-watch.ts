/** Executes the query of a watch and reads what it found. */

import type { WatchSettings } from '@datahub/proto/catalog/v1/watches';
import { CallForm, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { RowReader } from '../rows/row-reader.ts';
import { executeInto } from '../rows/stoppable.ts';
import type { Upstreams } from '../upstreams.ts';
import { type Before, type Found, FoundRows, keptBytesOf } from './found-rows.ts';
import type { RunMemory } from './run-memory.ts';

export interface WatchExecution {
  settings: WatchSettings;
  /** True if the query writes. */
  writes: boolean;
  /** True to undo what it writes. */
  dryRun: boolean;
  /** Of the query; the one that is executed. Absent if it does not matter. */
  version?: number;
  before: Before | undefined;
  executor: Pick<Upstreams['executor'], 'execute'>;
  /** Its signal is `stop`. */
  ctx: CallContext;
  stop: CallStop;
  memory: RunMemory;
}

/** Throws RESULT_TRUNCATED if a limit cut the rows, and the errors of `FoundRows` and of executions. */
export async function executeWatch(options: WatchExecution): Promise<Found> {
  const { settings, writes, dryRun, version, before, executor, ctx, stop, memory } = options;
  await memory.keep(keptBytesOf(before));
  const found = new FoundRows(settings, before, { writes });
  const use = async (rows: Parameters<FoundRows['add']>[0][]) => {
    for (const row of rows) found.add(row);
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
  if (reader.isTruncated)
    throw new HubError('RESULT_TRUNCATED', 'A limit of the key or of the hub cut the rows of the query.');
  return found.finish();
}
