/** Runs `work` after all earlier work of the same key has ended, however it ended. */
export type Turns = <R>(key: string, work: () => Promise<R>) => Promise<R>;

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
