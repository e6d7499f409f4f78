import { createTurnClock, createTurns } from '@datahub/service-kit/yield-to-loop';

/**
 * Reads of a store in turns of the event loop: SQLite reads on the thread of the process, and a caller that asks for many
 * documents, one after the other or at once, would else read them all in one turn.
 */
export interface ReadTurns {
  /** To call before a read. Returns what it has to wait for if reads have taken long in this turn. */
  enter(): Promise<void> | undefined;
  /** True if what is left of a read should wait for a later turn. */
  readonly isSpent: boolean;
}

const turnMs = 8;

export function createReadTurns(): ReadTurns {
  const clock = createTurnClock(turnMs);
  const nextTurn = createTurns();
  return {
    enter() {
      if (clock.isSpent) return nextTurn().then(() => clock.begin());
      clock.begin();
      return undefined;
    },
    get isSpent() {
      return clock.isSpent;
    },
  };
}
