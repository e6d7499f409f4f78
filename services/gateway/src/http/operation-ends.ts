/**
 * Tells the catalog how operations with an `Idempotency-Key` ended, again until it has recorded it. Otherwise their keys
 * would count as in use until the longest request is over.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FinishOperationRequest } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Upstreams } from '../upstreams.ts';

export interface OperationEnd {
  outcome: FinishOperationRequest;
  principal: Principal | undefined;
}

export interface OperationEnds {
  /** Rejects if the catalog does not record the end at once; then it is repeated. */
  tell(end: OperationEnd): Promise<void>;
  /** Frees the key of an operation that was not begun, because the answer to its beginning was lost. */
  release(end: OperationEnd): void;
  close(): void;
}

interface Options {
  catalog: Pick<Upstreams['catalog'], 'finishOperation'>;
  /** Then an operation without an end counts as left by a process that died. */
  giveUpMs: number;
}

const callTimeoutMs = 5_000;
const pauseMs = 500;
/** A record whose writing was given up can still arrive at the store. */
const lateMs = 15_000;
const repeatedMax = 1_000;
const repeatedBytesMax = 8 * 1_048_576;

export function createOperationEnds({ catalog, giveUpMs }: Options): OperationEnds {
  const closing = new AbortController();
  let repeated = 0;
  let repeatedBytes = 0;

  const send = async ({ outcome, principal }: OperationEnd) => {
    const by = principal === undefined ? {} : { principal };
    await catalog.finishOperation(outcome, createCallContext({ timeoutMs: callTimeoutMs, ...by }));
  };

  /** Sends it until the catalog has answered at least once after `untilMs`. */
  const sendAgain = async (end: OperationEnd, untilMs: number) => {
    const startedAt = performance.now();
    for (let waitMs = pauseMs; ; ) {
      await sleep(waitMs, undefined, { ref: false, signal: closing.signal });
      const age = performance.now() - startedAt;
      if (age > giveUpMs) return;
      const isSent = await send(end).then(
        () => true,
        () => false,
      );
      if (isSent && age >= untilMs) return;
      waitMs = isSent ? untilMs - age : pauseMs;
    }
  };

  const repeat = (end: OperationEnd, untilMs: number) => {
    if (repeated >= repeatedMax) return;
    const { body } = end.outcome;
    const fits = repeatedBytes + body.length <= repeatedBytesMax;
    const held = fits ? end : { ...end, outcome: { ...end.outcome, ...unkept } };
    const bytes = fits ? body.length : 0;
    repeated++;
    repeatedBytes += bytes;
    sendAgain(held, untilMs)
      .catch(() => {})
      .finally(() => {
        repeated--;
        repeatedBytes -= bytes;
      });
  };

  return {
    tell: (end) =>
      send(end).catch((err) => {
        if (mayPass(err)) repeat(end, 0);
        throw err;
      }),
    release: (end) => repeat(end, lateMs),
    close: () => closing.abort(),
  };
}

const unkept = {
  body: Buffer.alloc(0),
  kept: false,
  note: 'The request was carried out. Its answer was not stored, because the store could not be reached.',
};

const mayPass = (err: unknown): boolean =>
  !(err instanceof HubError) || ['UNAVAILABLE', 'OUTCOME_UNKNOWN', 'CANCELLED'].includes(err.code);
