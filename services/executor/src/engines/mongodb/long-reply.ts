/**
 * The room of a session's long reply. The driver has a reply in memory as a whole, and keeps it until its documents are
 * written, perhaps to a slow reader.
 */

import type { TakeReplyRoom } from '../../ports/server-stream.ts';

/** Longer replies wait for room. One of more documents than a first is asked for by the size of those before. */
export const longReplyBytes = 4 * 1_048_576;

export class LongReply {
  readonly #take: TakeReplyRoom | undefined;
  #giveBack: (() => void) | undefined;
  #isClosed = false;

  constructor(take: TakeReplyRoom | undefined) {
    this.#take = take;
  }

  /** Resolves when the reply may be read. */
  async begin(bytes: number): Promise<void> {
    this.end();
    const giveBack = await this.#take?.(bytes);
    if (this.#isClosed) giveBack?.();
    else this.#giveBack = giveBack;
  }

  /** Call this when nothing needs the reply any more. */
  end(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.end();
  }
}
