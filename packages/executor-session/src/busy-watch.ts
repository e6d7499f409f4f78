/** Tells whether the event loop of this process has little time left. */

export interface BusyWatch {
  readonly isBusy: boolean;
  /** Work has come. The watch rests once the loop has nearly nothing to do, so that an idle process does not wake for it. */
  watch(): void;
  /** The listener is called each time `isBusy` changes. */
  onChange(listener: () => void): void;
  offChange(listener: () => void): void;
  close(): void;
}

const everyMs = 200;
/** Shares of the time in which the loop works. The distance keeps the answer from changing all the time. */
const busyAbove = 0.9;
const calmBelow = 0.6;
const restBelow = 0.1;

export function watchBusy(): BusyWatch {
  const listeners = new Set<() => void>();
  let isBusy = false;
  let last = performance.eventLoopUtilization();
  let timer: NodeJS.Timeout | undefined;
  const rest = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const look = () => {
    const next = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(next, last);
    last = next;
    const was = isBusy;
    isBusy = utilization > (isBusy ? calmBelow : busyAbove);
    if (isBusy !== was) for (const listener of listeners) listener();
    if (utilization < restBelow) rest();
  };
  return {
    get isBusy() {
      return isBusy;
    },
    watch: () => {
      if (timer !== undefined) return;
      last = performance.eventLoopUtilization();
      timer = setInterval(look, everyMs).unref();
    },
    onChange: (listener) => void listeners.add(listener),
    offChange: (listener) => void listeners.delete(listener),
    close: rest,
  };
}
