/** Tells whether the event loop of this process has little time left. */

export interface BusyWatch {
  readonly isBusy: boolean;
  /** The listener is called each time `isBusy` changes. */
  onChange(listener: () => void): void;
  offChange(listener: () => void): void;
  close(): void;
}

const everyMs = 200;
/** Shares of the time in which the loop works. The distance keeps the answer from changing all the time. */
const busyAbove = 0.9;
const calmBelow = 0.6;

export function watchBusy(): BusyWatch {
  const listeners = new Set<() => void>();
  let isBusy = false;
  let last = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const next = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(next, last);
    last = next;
    const was = isBusy;
    isBusy = utilization > (isBusy ? calmBelow : busyAbove);
    if (isBusy !== was) for (const listener of listeners) listener();
  }, everyMs).unref();
  return {
    get isBusy() {
      return isBusy;
    },
    onChange: (listener) => void listeners.add(listener),
    offChange: (listener) => void listeners.delete(listener),
    close: () => clearInterval(timer),
  };
}
