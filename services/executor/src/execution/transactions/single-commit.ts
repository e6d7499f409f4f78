/** The COMMIT of a single write with an Idempotency-Key: its answer is complete before, and held until it has committed. */

import { formats } from '@datahub/contract/formats';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import { orAborted } from '@datahub/service-kit/call/abort';
import { type Outcome, type RunOptions, type TransactionName, unreported } from '../../ports/engine.ts';
import type { ResponseWriter } from '../../result/response.ts';
import type { Execution } from '../execution-state.ts';
import type { CommitNotes } from './commit-notes.ts';
import { findEnd, isLost, LostCommit } from './lost-commit.ts';

type AskOptions = Omit<Parameters<typeof findEnd>[1], 'lost'>;

export class SingleCommit implements ExecutionReply {
  /** True once the answer is complete. */
  isAnswered = false;
  readonly #execution: Execution;
  readonly #notes: CommitNotes | undefined;
  #name: TransactionName | undefined;
  #outcome: Outcome | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** True if the answer is too large to be held. */
  #isStreamed = false;
  #isReleased = false;
  /** Set while the reader has not taken the last large row. */
  #sending: Promise<void> | undefined;

  constructor(execution: Execution, notes: CommitNotes | undefined) {
    this.#execution = execution;
    this.#notes = notes;
  }

  /** Holds the answer while it can be stored, and its last chunk in any case. */
  chunk(bytes: Buffer, last = false): boolean {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#isReleased) return this.#send(last);
    if (last || this.#heldBytes <= (this.#notes?.answerBytesMax ?? 0)) return true;
    this.#isStreamed = true;
    return this.#send(false);
  }

  onDrain(listener: () => void): void {
    this.#execution.onDrain(listener);
  }

  /** The options of the statement with what this needs. */
  optionsOf(options: RunOptions, writer: ResponseWriter): RunOptions {
    return {
      ...options,
      beforeCommit: async (name, outcome) => {
        this.#name = name;
        this.#outcome = outcome;
        this.#execution.onOutcome(writer, outcome);
        await writer.turnToFinish();
        this.#sending = writer.finish(outcome, this.#execution);
        this.isAnswered = true;
        await this.#notes?.note(name, this.#repeatable(writer));
      },
    };
  }

  /** Sends the answer, after COMMIT. */
  async release(writer: ResponseWriter): Promise<void> {
    // The time of COMMIT counts, too.
    if (this.#outcome !== undefined) this.#execution.onOutcome(writer, this.#outcome);
    this.#isReleased = true;
    this.#send(this.#sending === undefined);
    if (this.#sending !== undefined) await orAborted(this.#sending, this.#execution.ctx.signal);
  }

  /** After an error of the statement. Resolves to true if it has committed and was answered, and to false if `err` is true. */
  async find(err: unknown, writer: ResponseWriter, options: AskOptions): Promise<boolean> {
    if (this.#name === undefined || !isLost(err)) return false;
    await findEnd(this.#name, { ...options, lost: new LostCommit(err) });
    const last = this.#held.pop();
    if (last !== undefined) this.#held.push(this.#sending === undefined ? this.#recovered(last) : last);
    try {
      await this.release(writer);
    } catch (late) {
      throw unreported(late);
    }
    return true;
  }

  /** The answer as a repeat gets it; undefined if it cannot be repeated. */
  #repeatable({ truncated }: ResponseWriter): Buffer | undefined {
    const { format } = this.#execution;
    const isCut = truncated || this.#outcome?.moreResults;
    if (this.#isStreamed || this.#sending !== undefined || (isCut && formats[format].hasTruncatedTrailer))
      return undefined;
    return this.#recovered(Buffer.concat(this.#held));
  }

  /** JSON ends with its `meta`. */
  #recovered(json: Buffer): Buffer {
    const { format, request } = this.#execution;
    const hasMeta = format === 'json' && request.options?.meta && request.annotate === undefined;
    return hasMeta ? Buffer.concat([json.subarray(0, -2), Buffer.from(',"recovered":true}}')]) : json;
  }

  #send(isLast: boolean): boolean {
    const bytes = Buffer.concat(this.#held);
    this.#held = [];
    return bytes.length === 0 || this.#execution.chunk(bytes, isLast);
  }
}
