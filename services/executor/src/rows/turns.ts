/**
 * Large answers take turns, so that many of them at once leave the process to small ones in between: a database fills
 * its socket's buffers meanwhile, and loses nothing by it.
 */

/** An answer that flows, or waits for its turn to. */
export interface Flow {
  /** Its turn has come. */
  resume(): void;
  /** Its turn is over; it is in line again. */
  pause(): void;
}

export interface Turns {
  /** False when the flow has to wait, and is in line. */
  take(flow: Flow): boolean;
  /** The flow wants no turn for now: it waits for its reader, or has ended. */
  leave(flow: Flow): void;
}

export interface TurnOptions {
  /** Flows at a time: one that is read while the other is filled. */
  atOnce: number;
  turnMs: number;
}

export function createTurns({ atOnce, turnMs }: TurnOptions = { atOnce: 2, turnMs: 15 }): Turns {
  const flowing = new Set<Flow>();
  const waiting = new Set<Flow>();
  let timer: NodeJS.Timeout | undefined;
  const rotate = () => {
    timer = undefined;
    const over = [...flowing].slice(0, waiting.size);
    for (const flow of over) {
      flowing.delete(flow);
      flow.pause();
    }
    admit();
    for (const flow of over) waiting.add(flow);
    admit();
    schedule();
  };
  const admit = () => {
    for (const flow of waiting) {
      if (flowing.size >= atOnce) return;
      waiting.delete(flow);
      flowing.add(flow);
      flow.resume();
    }
  };
  const schedule = () => {
    if (waiting.size > 0) timer ??= setTimeout(rotate, turnMs);
  };
  return {
    take: (flow) => {
      if (flowing.has(flow)) return true;
      if (flowing.size < atOnce && waiting.size === 0) {
        flowing.add(flow);
        return true;
      }
      waiting.add(flow);
      schedule();
      return false;
    },
    leave: (flow) => {
      waiting.delete(flow);
      if (flowing.delete(flow)) admit();
      if (waiting.size > 0) return;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
