/** Asks the source of an operation how its transaction ended, if the process that sent its COMMIT died. */

import {
  type BeginOperationResponse,
  type CommitEnd,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import { FindCommitResponse_End as End } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Upstreams } from '../upstreams.ts';

type Asked = CommitEnd | State.STATE_IN_FLIGHT | State.STATE_UNKNOWN;

export function createCommitQuestions(executor: Pick<Upstreams['executor'], 'findCommit'>) {
  return async ({ commit, isLeft }: BeginOperationResponse, ctx: CallContext): Promise<Asked> => {
    if (commit === undefined) return State.STATE_UNKNOWN;
    const { end } = await executor.findCommit({ ...commit, isLeft }, ctx).catch((err) => {
      if (err instanceof HubError && goneCodes.has(err.code)) return { end: End.END_UNSPECIFIED };
      throw unasked(err);
    });
    if (end === End.END_COMMITTED) return { commit, committed: true };
    if (end === End.END_ABORTED) return { commit, committed: false };
    return end === End.END_RUNNING ? State.STATE_IN_FLIGHT : State.STATE_UNKNOWN;
  };
}

const goneCodes = new Set(['NOT_FOUND', 'SOURCE_GONE']);

const unasked = (cause: unknown) =>
  new HubError(
    'SOURCE_UNREACHABLE',
    'The first request with this Idempotency-Key was interrupted during its COMMIT, and the source cannot be asked now whether it has committed. Nothing was carried out again. Try again.',
    { cause, retryable: true, retryAfterMs: 1_000 },
  );
