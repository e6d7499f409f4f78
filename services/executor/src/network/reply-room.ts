/** The bytes of long replies that the connections of each account have in memory at a time. Accounts do not wait for others. */

import type { TakeReplyRoom } from '../ports/server-stream.ts';

const accountBytesMax = 134_217_728;

interface Account {
  bytes: number;
  waiting: { bytes: number; enter: () => void }[];
}

/** Returns a function that takes room for a reply of an account. One that is alone may have any size. */
export function createReplyRoom(
  bytesMax = accountBytesMax,
): (accountId: string, bytes: number) => ReturnType<TakeReplyRoom> {
  const accounts = new Map<string, Account>();
  const admit = (accountId: string, account: Account) => {
    let [next] = account.waiting;
    while (next !== undefined && (account.bytes === 0 || account.bytes + next.bytes <= bytesMax)) {
      account.waiting.shift();
      account.bytes += next.bytes;
      next.enter();
      [next] = account.waiting;
    }
    if (account.bytes === 0) accounts.delete(accountId);
  };
  return (accountId, bytes) =>
    new Promise((resolve) => {
      const account = accounts.get(accountId) ?? { bytes: 0, waiting: [] };
      accounts.set(accountId, account);
      const giveBack = () => {
        account.bytes -= bytes;
        admit(accountId, account);
      };
      account.waiting.push({ bytes, enter: () => resolve(giveBack) });
      admit(accountId, account);
    });
}
