/**
 * Large answers take turns, so that many of them at once leave the process to small ones in between: a database fills
 * its socket's buffers meanwhile, and loses nothing by it. A turn is over with each chunk that is sent, since a fast
 * source has megabytes ready that would be read without a stop. While small answers are about, large ones that stand in
 * line rest between their turns, which leaves the machine to them as well.
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
  /** The flow has sent a chunk and has paused; it is resumed when its next turn comes. */
  pass(flow: Flow): void;
  /** The flow wants no turn for now: it waits for its reader, or has ended. */
  leave(flow: Flow): void;
  /** A small answer has ended. */
  noteSmall(): void;
  /** True while small answers are about: turns should be short. */
  readonly considerate: boolean;
}

export interface TurnOptions {
  /** Flows at a time: one that is read while the other is filled. Beside small answers it is one. */
  atOnce: number;
  /** For a flow whose chunk does not come. */
  turnMs: number;
  /** Small answers are about for so long after one has ended. */
  considerateMs: number;
  /** The least between turns while they are; more where the turn took long, and where many are in line. */
  restMs: number;
}

/** A rest is at most so many times as long as the turn before it: large answers keep a quarter of the process. */
const restTurnsMax = 3;

const defaults: TurnOptions = { atOnce: 2, turnMs: 15, considerateMs: 100, restMs: 2 };

export function createTurns(options: Partial<TurnOptions> = {}): Turns {
  const { atOnce, turnMs, considerateMs, restMs } = { ...defaults, ...options };
  const flowing = new Set<Flow>();
  const waiting = new Set<Flow>();
  let rotation: NodeJS.Timeout | undefined;
  let admitting = false;
  let admittedAt = 0;
  let smallAt = Number.NEGATIVE_INFINITY;
  const isConsiderate = () => performance.now() - smallAt < considerateMs;
  const hasPlace = () => flowing.size < (isConsiderate() ? 1 : atOnce);

  const admit = () => {
    admittedAt = performance.now();
    for (const flow of waiting) {
      if (!hasPlace()) return;
      waiting.delete(flow);
      flowing.add(flow);
      flow.resume();
    }
  };
  const admitSoon = () => {
    if (admitting) return;
    admitting = true;
    const begin = () => {
      admitting = false;
      admit();
      schedule();
    };
    if (!isConsiderate()) {
      setImmediate(begin);
      return;
    }
    const turns = Math.min(waiting.size, restTurnsMax);
    setTimeout(begin, Math.max(restMs, turns * (performance.now() - admittedAt)));
  };
  const rotate = () => {
    rotation = undefined;
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
  const schedule = () => {
    if (waiting.size > 0) {
      rotation ??= setTimeout(rotate, turnMs);
      return;
    }
    clearTimeout(rotation);
    rotation = undefined;
  };

  return {
    get considerate() {
      return isConsiderate();
    },
    take: (flow) => {
      if (flowing.has(flow)) return true;
      if (waiting.size === 0 && hasPlace()) {
        flowing.add(flow);
        return true;
      }
      waiting.add(flow);
      schedule();
      return false;
    },
    pass: (flow) => {
      if (waiting.size === 0) {
        setImmediate(() => {
          if (flowing.has(flow)) flow.resume();
        });
        return;
      }
      flowing.delete(flow);
      waiting.add(flow);
      admitSoon();
      schedule();
    },
    leave: (flow) => {
      waiting.delete(flow);
      if (flowing.delete(flow) && waiting.size > 0) admitSoon();
      schedule();
    },
    noteSmall: () => {
      smallAt = performance.now();
    },
  };
}
