/** Takes turns at what a log-in with SCRAM computes, in the threads that Node shares with compression and files. */

/** More rounds take longer than five milliseconds. */
const shortRoundsMax = 16_384;

/** Creates a function that does one thing after the other. */
function createLane() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

const [short, long] = [createLane(), createLane()];

/**
 * Derives the keys of many log-ins one after the other. Those that take long have a turn of their own, so that of the four
 * threads two stay free, however many log-ins begin and however many rounds their servers request.
 */
export const deriveInTurn = <T>(rounds: number, derive: () => Promise<T>): Promise<T> =>
  (rounds <= shortRoundsMax ? short : long)(derive);
