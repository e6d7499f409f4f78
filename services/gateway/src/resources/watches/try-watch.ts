/** Runs a watch that is not stored, with the rights of the caller, and says what it would tell. */

import { isComparing } from '@datahub/contract/watches';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { count, list, orNull, record, textOrNull } from '../../http/json-schema.ts';
import { createPlaces } from '../../http/places.ts';
import type { Handler } from '../../http/route.ts';
import { JsonText, writeJson } from '../../response/json-splices.ts';
import { executeWatch } from '../../watches/execute-watch.ts';
import type { Found } from '../../watches/found-rows.ts';
import { LargeRuns, RunMemory } from '../../watches/run-memory.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { toSettings } from './watch-schemas.ts';

export const triedWatch = record({
  outcome: { type: 'string', enum: ['ok', 'failed'] },
  code: textOrNull,
  detail: textOrNull,
  rows: orNull(count),
  /** Whether the first run only keeps the rows, to compare later ones with them. */
  baseline: { type: 'boolean' },
  isMet: orNull({ type: 'boolean' } as const),
  told: list({ type: 'object' }),
});

const toldMax = 20;

/** Tries that run at the same time in a gateway. */
const triesMax = { allMax: 32, accountMax: 8, waitingMax: 32 };

export function createTryWatchHandler({ upstreams: { catalog, executor } }: ResourceDeps): Handler {
  const takePlace = createPlaces(
    triesMax,
    `This account tries ${triesMax.accountMax} watches, and ${triesMax.waitingMax} more wait. Try again later.`,
  );
  const largeRuns = new LargeRuns();
  return async (request, reply) => {
    const { hubId } = request.body as { hubId: string };
    const settings = toSettings(request);
    const { writes } = await catalog.checkWatch({ hubId, settings }, request.context);
    const ctx = request.context;
    const { accountId } = requirePrincipal(ctx);
    using _place = await takePlace(ctx);
    // What a try writes is undone, so it may begin again.
    using memory = new RunMemory(largeRuns, { accountId, mayRepeat: true });
    const run = { settings, writes, dryRun: writes, before: undefined, executor, ctx, memory };
    const baseline = isComparing(settings.when);
    const tried = await executeWatch(run).then(
      (found) => ({ outcome: 'ok', code: null, detail: null, ...toJson(found), baseline }),
      (err) => {
        if (writes) requireUndoable(err);
        return failedJson(err, request, baseline);
      },
    );
    return reply.header('content-type', 'application/json; charset=utf-8').send(writeJson(tried));
  };
}

function toJson({ rows, isMet, toldNdjson }: Found) {
  const lines = toldNdjson.toString().split('\n', toldMax + 1);
  const told = lines.filter((line) => line !== '').slice(0, toldMax);
  return { rows, isMet: isMet ?? null, told: told.map((line) => JsonText.of<object>(line)) };
}

/** A try undoes what the query writes, which is not an option that the caller chose. */
function requireUndoable(err: unknown): void {
  if (!(err instanceof HubError) || err.code !== 'OPTION_REFUSED') return;
  const detail =
    'The watch cannot be tried, because the hub cannot undo what its query writes: it runs outside of a transaction, or a table has none. The watch itself can run it.';
  throw new HubError(err.code, detail, { cause: err, retryable: false });
}

/** A fault of the query is what the run would be recorded with. */
function failedJson(err: unknown, { context }: FastifyRequest, baseline: boolean) {
  if (context.signal.aborted) throw err;
  const { code, message } = toHubError(err);
  if (code === 'INTERNAL' || code === 'SCOPE_DENIED') throw err;
  return { outcome: 'failed', code, detail: message, rows: null, isMet: null, told: [], baseline };
}
