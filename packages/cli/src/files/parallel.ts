/** Runs a call for each element, a few at a time. */

const callsMax = 8;

export async function inParallel<T>(
  all: readonly T[],
  run: (one: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < all.length) {
      const index = next++;
      await run(all[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(callsMax, all.length) }, work));
}
