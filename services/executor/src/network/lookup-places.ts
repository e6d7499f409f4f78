/** A bounded number of places that accounts take turns at. */

export interface PlacesSettings {
  /** Taken at the same time, by all accounts together. */
  allMax: number;
  /** Taken at the same time by one account. */
  accountMax: number;
  /** How many of one account may wait; the next is refused at once. */
  waitingMax: number;
}

export interface Places {
  /**
   * Resolves with what gives the place back. Within an account whoever came first goes first; among accounts they take
   * turns. Rejects with the reason of `signal` when it aborts before.
   */
  take(accountId: string, signal: AbortSignal): Promise<() => void>;
}

interface Line {
  /** When it was last let in, counted; 0 if never. */
  turn: number;
  taken: number;
  waiting: (() => void)[];
}

export function createPlaces({ allMax, accountMax, waitingMax }: PlacesSettings): Places {
  /** Of the accounts that have a place or wait for one. */
  const lines = new Map<string, Line>();
  let turns = 0;
  let taken = 0;

  const next = (): Line | undefined => {
    let first: Line | undefined;
    for (const line of lines.values()) {
      if (line.waiting.length === 0 || line.taken >= accountMax) continue;
      if (first === undefined || line.turn < first.turn) first = line;
    }
    return first;
  };
  const admit = () => {
    const line = taken < allMax ? next() : undefined;
    const enter = line?.waiting.shift();
    if (line === undefined || enter === undefined) return;
    line.turn = ++turns;
    line.taken++;
    taken++;
    enter();
  };
  const drop = (accountId: string, line: Line) => {
    if (line.taken === 0 && line.waiting.length === 0) lines.delete(accountId);
  };

  return {
    take: (accountId, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const line = lines.get(accountId) ?? { turn: 0, taken: 0, waiting: [] };
        if (line.waiting.length >= waitingMax) return reject(new Error('Too many names wait already.'));
        lines.set(accountId, line);
        const leave = () => {
          line.waiting.splice(line.waiting.indexOf(enter), 1);
          drop(accountId, line);
          reject(signal.reason);
        };
        const giveBack = () => {
          line.taken--;
          taken--;
          drop(accountId, line);
          admit();
        };
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve(giveBack);
        };
        signal.addEventListener('abort', leave, { once: true });
        line.waiting.push(enter);
        admit();
      }),
  };
}
