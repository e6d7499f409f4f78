/** Keeps what happens again and again from filling the log. */

const keysMax = 1_000;

/** True the first time, and then once in `everyMs` for the same key. */
export function createThrottle(everyMs: number, now = () => performance.now()): (key?: string) => boolean {
  const toldAt = new Map<string, number>();
  return (key = '') => {
    const at = now();
    if (at - (toldAt.get(key) ?? Number.NEGATIVE_INFINITY) < everyMs) return false;
    toldAt.delete(key);
    toldAt.set(key, at);
    if (toldAt.size > keysMax) toldAt.delete(toldAt.keys().next().value as string);
    return true;
  };
}
