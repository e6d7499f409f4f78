/** The times of an execution as metrics of the header `Server-Timing`. */

interface Times {
  startedAt: number;
  /** When the wait for a connection began. */
  preparedAt: number;
  /** When it ended. */
  runAt: number;
  /** The connection was open before. */
  isReused: boolean;
}

/**
 * `queue` is the time until the pool gave an open connection. If it had none, `connect` is the time until one was opened,
 * and `queue` ends where that begins. `name` is the metric of the work at the database.
 */
export function toServerTiming(times: Times, name: 'db' | 'first-row', durationMs: number): string {
  const waitedMs = times.runAt - times.startedAt;
  const waits = times.isReused
    ? `queue;dur=${round(waitedMs)}, connect;dur=0`
    : `queue;dur=${round(times.preparedAt - times.startedAt)}, connect;dur=${round(times.runAt - times.preparedAt)}`;
  return `${waits}, ${name};dur=${round(durationMs)}`;
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
