/** Collects what comes up in one turn of the event loop, or in a few, and hands it over in one piece. */

export interface TurnQueue<T> {
  push(item: T): void;
  /** Lets a waiting `take` come back, with nothing if there is nothing. */
  wake(): void;
  /** What is there goes out still; then `take` gives undefined. */
  close(): void;
  /** Everything pushed until the turns in which there was something are over; at once when `now`. */
  take(now: boolean): Promise<T[] | undefined>;
}

/** `turns`: how many to wait for from the first push on, one unless told otherwise. */
export function createTurnQueue<T>(turns: () => number = () => 1): TurnQueue<T> {
  let items: T[] = [];
  let closed = false;
  let woken = false;
  let waiting: (() => void) | undefined;

  const notify = () => {
    waiting?.();
    waiting = undefined;
  };

  const notifyAfter = (left: number): void => {
    setImmediate(() => (left > 1 ? notifyAfter(left - 1) : notify()));
  };

  return {
    push: (item) => {
      items.push(item);
      // The first wakes the taker at the end of the turn; the others ride along.
      if (items.length === 1) notifyAfter(turns());
    },
    wake: () => {
      woken = true;
      notify();
    },
    close: () => {
      closed = true;
      notify();
    },
    take: async (now) => {
      while (items.length === 0 && !closed && !woken && !now) {
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      }
      woken = false;
      const batch = items;
      items = [];
      return batch.length === 0 && closed ? undefined : batch;
    },
  };
}
