/** Shares due work out, so that no account takes the places of all others. */

interface Taker {
  /** The most that it takes now. */
  limit: number;
  /** What it does now. */
  running: readonly { accountId: string; count: number }[];
  /** The most that it does of one account, while it could take so many more of all. */
  accountMax(free: number): number;
}

/** What a process takes of what is due, and what must wait for a place of its account. */
export function shareOut<T extends { accountId: string }>(
  due: readonly T[],
  { limit, running, accountMax }: Taker,
): { mine: T[]; later: T[] } {
  const used = new Map(running.map(({ accountId, count }) => [accountId, count]));
  const mine: T[] = [];
  const later: T[] = [];
  for (const one of due) {
    const count = used.get(one.accountId) ?? 0;
    if (count >= accountMax(limit - mine.length)) later.push(one);
    else if (mine.length < limit) {
      mine.push(one);
      used.set(one.accountId, count + 1);
    }
  }
  return { mine, later };
}
