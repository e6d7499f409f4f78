/**
 * Runs one tick and tells the catalog how it ended. The lease is extended while it runs. If the watch is paused, deleted or
 * leased by another gateway, the statement is cancelled.
 */

import { cutText } from '@datahub/contract/limits';
import type { TakenTick } from '@datahub/proto/catalog/v1/watches';
import { onAbort } from '@datahub/service-kit/call/abort';
import {
  type CallContext,
  CallStop,
  createCallContext,
  createRequestId,
} from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { repeated } from '../rows/repeated.ts';
import type { UsageCounter } from '../telemetry/usage-counter.ts';
import type { Upstreams } from '../upstreams.ts';
import { executeWatch, type RunBefore, Untold, type WatchExecution } from './execute-watch.ts';
import { type Found, rowsOfDigest } from './found-rows.ts';
import { type LargeRuns, PlaceLost, RunMemory } from './run-memory.ts';

export interface TickDeps {
  upstreams: Pick<Upstreams, 'catalog' | 'executor'>;
  /** Fires when the gateway shuts down. */
  closing: CallStop;
  /** A permit for each run that keeps many rows in memory. */
  largeRuns: LargeRuns;
  usage: Pick<UsageCounter, 'ran'>;
  /** Called for a fault of the hub. */
  onFailure(err: unknown): void;
}

const callTimeoutMs = 10_000;
const runMsMax = 3_600_000;
const beatsInLease = 3;
/** About as long as a lease lasts without a beat. */
const endTriesMax = 15;
const detailCharactersMax = 2_000;
/** Why a run may not go on. */
const endingCodes = new Set([
  ...['CONFLICT', 'CANCELLED', 'NOT_FOUND'],
  ...['KEY_INVALID', 'KEY_EXPIRED', 'SCOPE_DENIED'],
]);

export const closingReason = new HubError('UNAVAILABLE', 'The gateway is shutting down.');

export async function runTick(tick: TakenTick, deps: TickDeps): Promise<void> {
  const { watchId, lease, leaseMs, principal } = tick;
  const { catalog } = deps.upstreams;
  const stop = new CallStop();
  using _closing = onAbort(deps.closing, () => stop.abort(closingReason));
  const callCtx = () => createCallContext({ timeoutMs: callTimeoutMs, ...(principal && { principal }) });
  using memory = new RunMemory(deps.largeRuns, {
    accountId: principal?.accountId ?? '',
    mayRepeat: !tick.writes,
  });
  let isLost = false;
  const beat = setInterval(() => {
    catalog.keepTick({ watchId, lease }, callCtx()).catch((err) => {
      // While the store fails, the run goes on. If the lease ends meanwhile, the end of this run changes nothing.
      if (!(err instanceof HubError) || !endingCodes.has(err.code)) return;
      isLost = err.code === 'CONFLICT';
      stop.abort(err);
    });
  }, leaseMs / beatsInLease);
  try {
    const startedAt = performance.now();
    const ended = await execute(tick, deps, { stop, callCtx, memory });
    // Another gateway takes a read again.
    if (isLost || (stop.aborted && stop.reason === closingReason && !tick.writes)) return;
    const durationMs = Math.round(performance.now() - startedAt);
    await repeated(
      () => catalog.endTick({ watchId, lease, durationMs, ...ended }, callCtx()),
      new CallStop(),
      endTriesMax,
    );
  } catch (err) {
    if (!(err instanceof HubError) || err.code !== 'CONFLICT') deps.onFailure(err);
  } finally {
    clearInterval(beat);
  }
}

type Ended = Partial<Found> & {
  outcome: string;
  code?: string;
  detail?: string;
  queryVersion: number;
  toldNdjson: Buffer;
};

async function execute(
  tick: TakenTick,
  { upstreams, usage, onFailure }: TickDeps,
  { stop, callCtx, memory }: { stop: CallStop; callCtx: () => CallContext; memory: RunMemory },
): Promise<Ended> {
  const { settings, writes, principal } = tick;
  if (settings === undefined || principal === undefined)
    throw new HubError('INTERNAL', 'The catalog gave a tick without its watch.');
  const deadlineAt = performance.now() + runMsMax;
  const version = { number: tick.queryVersion };
  const ctx = { principal, requestId: createRequestId(), deadlineAt, signal: stop };
  try {
    const before = toBefore(tick, upstreams, callCtx);
    const run = { settings, writes, dryRun: false, before, executor: upstreams.executor, ctx, memory };
    const found = await executeVersion(run, version);
    usage.ran(principal, settings.queryId);
    return { outcome: 'ok', ...found, queryVersion: version.number };
  } catch (err) {
    const failure = toHubError(err);
    const { code, message } = failure;
    usage.ran(principal, settings.queryId, failure);
    if (code === 'INTERNAL') onFailure(err);
    // A write whose answer was lost is never started again.
    const isLost = err instanceof HubError && err.lost === true;
    const isStopped = stop.aborted || err instanceof PlaceLost || err instanceof Untold;
    const isUnknown = writes && (code === 'OUTCOME_UNKNOWN' || isLost || isStopped);
    // It was paused, or may no longer run.
    const outcome = isUnknown ? 'unknown' : stop.aborted ? 'skipped' : 'failed';
    const detail = cutText(message, detailCharactersMax).toWellFormed();
    return { outcome, code, detail, queryVersion: version.number, toldNdjson: Buffer.alloc(0) };
  }
}

const versionsMax = 5;

/** Executes the version that the record of the run names. If the query was changed meanwhile, that is the new one. */
async function executeVersion(
  run: Omit<WatchExecution, 'version'>,
  version: { number: number },
): Promise<Found> {
  for (let tries = 1; ; tries++) {
    try {
      return await executeWatch({ ...run, version: version.number });
    } catch (err) {
      const isOther = err instanceof HubError && err.code === 'VERSION_CHANGED' && err.version !== undefined;
      if (!isOther || tries >= versionsMax) throw err;
      version.number = err.version as number;
    }
  }
}

function toBefore(
  { watchId, before }: TakenTick,
  { catalog }: Pick<Upstreams, 'catalog'>,
  callCtx: () => CallContext,
): RunBefore | undefined {
  if (before === undefined) return undefined;
  const { snapshotId, digest } = before;
  return {
    rows: rowsOfDigest(digest),
    read: async () => {
      const { snapshot } = await catalog.readSnapshot({ watchId, snapshotId }, callCtx());
      return snapshot && { ...snapshot, digest };
    },
  };
}
