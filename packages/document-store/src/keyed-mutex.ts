/** Runs `work` after all earlier work with the same key has ended, whether it succeeded or not. */
export type KeyedMutex = <R>(key: string, work: () => Promise<R>) => Promise<R>;

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const previous = last.get(key);
    const own = previous === undefined ? work() : previous.then(work, work);
    last.set(key, own);
    try {
      return await own;
    } finally {
      if (last.get(key) === own) last.delete(key);
    }
  };
}
