/** How much the records and answers kept for `Idempotency-Key` take, account by account. */

import type { Collection } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import type { OperationDoc } from './documents.ts';

/** What a record takes without its answer. */
export const recordBytes = 1_024;

export interface KeptBytes {
  /** Before a record is made. Rejects with RATE_LIMITED where the account has no room for one. */
  requireRoom(accountId: string): Promise<void>;
  /** Counts an answer in, where there is room for it. */
  takes(accountId: string, bytes: number): boolean;
}

interface Options {
  bytesMax: number;
  nowMs: () => number;
}

/** Records expire, and other processes make some: the sum is read anew after so long. */
const freshMs = 60_000;
const accountsMax = 1_000;
const pageSize = 5_000;

/** Right to what is kept within a minute in other processes; one process is exact but for what expired meanwhile. */
export function createKeptBytes(operations: Collection<OperationDoc>, options: Options): KeptBytes {
  const { bytesMax, nowMs } = options;
  const accounts = new Map<string, { bytes: number; at: number }>();

  async function sumOf(accountId: string): Promise<number> {
    let bytes = 0;
    let afterId: string | undefined;
    // More than the bound need not be counted.
    while (bytes <= bytesMax) {
      const after = afterId === undefined ? {} : { afterId };
      const page = await operations.findSummaries({ accountId, ...after, limit: pageSize });
      for (const { size } of page) bytes += Math.max(Number(size ?? 0), recordBytes);
      afterId = page.at(-1)?.id;
      if (page.length < pageSize) break;
    }
    return bytes;
  }

  async function current(accountId: string): Promise<{ bytes: number; at: number }> {
    const known = accounts.get(accountId);
    if (known !== undefined && nowMs() - known.at < freshMs) return known;
    const sum = { bytes: await sumOf(accountId), at: nowMs() };
    accounts.delete(accountId);
    if (accounts.size >= accountsMax) accounts.delete(accounts.keys().next().value as string);
    accounts.set(accountId, sum);
    return sum;
  }

  return {
    requireRoom: async (accountId) => {
      const sum = await current(accountId);
      if (sum.bytes + recordBytes > bytesMax) {
        throw new HubError(
          'RATE_LIMITED',
          `The answers that this account has kept for Idempotency-Key take all of the ${bytesMax} bytes it may use. Each is kept for 24 hours. Wait, or send the request without the header.`,
          { retryAfterMs: freshMs },
        );
      }
      sum.bytes += recordBytes;
    },
    takes: (accountId, bytes) => {
      const sum = accounts.get(accountId);
      if (sum === undefined) return true;
      if (sum.bytes + bytes > bytesMax) return false;
      sum.bytes += bytes;
      return true;
    },
  };
}
