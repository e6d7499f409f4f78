/** A semaphore that is fair to accounts: it grants its permits round-robin by account. */

import { onAbort } from './call/abort.ts';
import type { CallSignal } from './call/call.ts';

export interface SemaphoreSettings {
  /** Permits of all accounts together. */
  allMax: number;
  /** Permits of one account. */
  accountMax: number;
  /** Waiters of one account; further ones are rejected at once. */
  waitingMax: number;
}

export interface FairSemaphore {
  /**
   * Resolves with the function that releases the permit. The waiters of one account are served in order. Rejects with the
   * reason of `signal` if it aborts first.
   */
  acquire(accountId: string, signal: CallSignal): Promise<() => void>;
  /** Another account waits for a permit that this one has. */
  othersWait(accountId: string): boolean;
}

interface Account {
  /** The number of the permit that was granted to it last. The account with the lowest one is next. */
  lastGrant: number;
  acquired: number;
  waiting: (() => void)[];
}

export function createFairSemaphore(settings: SemaphoreSettings): FairSemaphore {
  const { allMax, accountMax, waitingMax } = settings;
  /** The accounts that have permits or wait for one. */
  const accounts = new Map<string, Account>();
  let grants = 0;
  let acquired = 0;

  const next = (): Account | undefined => {
    let first: Account | undefined;
    for (const account of accounts.values()) {
      if (account.waiting.length === 0 || account.acquired >= accountMax) continue;
      if (first === undefined || account.lastGrant < first.lastGrant) first = account;
    }
    return first;
  };
  const grant = () => {
    const account = acquired < allMax ? next() : undefined;
    const enter = account?.waiting.shift();
    if (account === undefined || enter === undefined) return;
    account.lastGrant = ++grants;
    account.acquired++;
    acquired++;
    enter();
  };
  const dropUnused = (accountId: string, account: Account) => {
    if (account.acquired === 0 && account.waiting.length === 0) accounts.delete(accountId);
  };

  return {
    acquire: (accountId, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        // A new account comes before the one that was granted last, and after those that have waited since.
        const account = accounts.get(accountId) ?? { lastGrant: grants - 0.5, acquired: 0, waiting: [] };
        if (account.waiting.length >= waitingMax) return reject(new Error('Too many calls are waiting.'));
        accounts.set(accountId, account);
        const listening = onAbort(signal, () => {
          account.waiting.splice(account.waiting.indexOf(enter), 1);
          dropUnused(accountId, account);
          reject(signal.reason);
        });
        const release = () => {
          account.acquired--;
          acquired--;
          dropUnused(accountId, account);
          grant();
        };
        const enter = () => {
          listening[Symbol.dispose]();
          resolve(release);
        };
        account.waiting.push(enter);
        grant();
      }),
    othersWait: (accountId) =>
      [...accounts].some(
        ([id, { waiting, acquired }]) => id !== accountId && waiting.length > 0 && acquired < accountMax,
      ),
  };
}
