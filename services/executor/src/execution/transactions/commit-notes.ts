/**
 * Notes a transaction in the record of its Idempotency-Key before COMMIT is sent, with its answer. If this process dies,
 * another one can ask the source how the transaction ended, and answer a repeat.
 */

import type { Operation } from '@datahub/proto/executor/v1/executor';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../../definitions/definition.ts';
import type { TransactionName } from '../../ports/engine.ts';

export interface CommitNotesOptions {
  catalog: Pick<Catalog, 'noteCommit'>;
  ctx: CallContext;
  sourceId: string;
}

/** Of a call with an Idempotency-Key at a source that can name transactions. */
export class CommitNotes {
  readonly #operation: Operation;
  readonly #options: CommitNotesOptions;

  constructor(operation: Operation, options: CommitNotesOptions) {
    this.#operation = operation;
    this.#options = options;
  }

  /** The bytes that are stored at most of an answer. */
  get answerBytesMax(): number {
    return this.#operation.answerBytesMax;
  }

  /**
   * Call this before each COMMIT, also without a name, with the answer if it can be repeated. If it rejects, the
   * transaction must be rolled back.
   */
  async note(name: TransactionName | undefined, answer: Buffer | undefined): Promise<void> {
    const { recordId, attempt, contentType, answerBytesMax } = this.#operation;
    const { catalog, sourceId, ctx } = this.#options;
    const { principal, requestId } = ctx;
    const body = answer !== undefined && answer.length <= answerBytesMax ? answer : undefined;
    const commit = { sourceId, server: name?.server ?? '', transactionId: name?.id ?? '' };
    try {
      await catalog.noteCommit(
        { recordId, attempt, commit, contentType, body },
        createCallContext({ timeoutMs: noteMsMax, requestId, principal }),
      );
    } catch (err) {
      throw err instanceof HubError && err.code === 'IDEMPOTENCY_CONFLICT' ? err : unnoted(err);
    }
  }
}

const noteMsMax = 5_000;

const unnoted = (cause: unknown) =>
  new HubError(
    'UNAVAILABLE',
    'The write was rolled back, because its COMMIT could not be recorded for its Idempotency-Key. Try again.',
    { cause, retryable: true, retryAfterMs: 1_000 },
  );
