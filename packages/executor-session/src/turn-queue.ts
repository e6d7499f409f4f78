/** Collects what comes up in one turn of the event loop, and hands it over in one piece. */

export interface TurnQueue<T> {
  push(item: T): void;
  /** Lets a waiting `take` come back, with nothing if there is nothing. */
  wake(): void;
  /** What is there goes out still; then `take` gives undefined. */
  close(): void;
  /** Everything pushed until the end of the turn in which there was something; at once when `now`. */
  take(now: boolean): Promise<T[] | undefined>;
}

export function createTurnQueue<T>(): TurnQueue<T> {
  let items: T[] = [];
  let closed = false;
  let woken = false;
  let waiting: (() => void) | undefined;

  const notify = () => {
    waiting?.();
    waiting = undefined;
  };

  return {
    push: (item) => {
      items.push(item);
      // The first of a turn wakes the taker at the turn's end; the others ride along.
      if (items.length === 1) setImmediate(notify);
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
