/** Counts the bytes of the records and responses stored for `Idempotency-Key`, by account. */

import type { Collection } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import type { OperationDoc } from './documents.ts';

/** The size of a record without its response. */
export const recordBytes = 1_024;

export interface StoredBytes {
  /** Call before inserting a record. Rejects with RATE_LIMITED if the account has no room for it. */
  requireRoom(accountId: string): Promise<void>;
  /** Adds the size of a response; false if the account has no room for it. */
  reserve(accountId: string, bytes: number): boolean;
}

/** The sum is read again after this time, because records expire and other processes insert some. */
const freshMs = 60_000;
const accountsMax = 1_000;
const pageSize = 5_000;

interface Sum {
  bytes: number;
  at: number;
}

/** The sum of one process is exact except for records that expired; records of other processes count within a minute. */
export function createStoredBytes(operations: Collection<OperationDoc>, bytesMax: number): StoredBytes {
  const accounts = new Map<string, Sum>();
  const reading = new Map<string, Promise<Sum>>();

  async function sumOf(accountId: string): Promise<number> {
    let bytes = 0;
    let afterId: string | undefined;
    // Stop at the limit.
    while (bytes <= bytesMax) {
      const after = afterId === undefined ? {} : { afterId };
      const page = await operations.findSummaries({ accountId, ...after, limit: pageSize });
      for (const { size } of page) bytes += Math.max(Number(size ?? 0), recordBytes);
      afterId = page.at(-1)?.id;
      if (page.length < pageSize) break;
    }
    return bytes;
  }

  async function read(accountId: string): Promise<Sum> {
    const sum = { bytes: await sumOf(accountId), at: performance.now() };
    accounts.delete(accountId);
    if (accounts.size >= accountsMax) accounts.delete(accounts.keys().next().value as string);
    accounts.set(accountId, sum);
    return sum;
  }

  /** Calls that come together wait for one reading, which takes a while for an account with many records. */
  function current(accountId: string): Sum | Promise<Sum> {
    const known = accounts.get(accountId);
    if (known !== undefined && performance.now() - known.at < freshMs) return known;
    const running = reading.get(accountId) ?? read(accountId).finally(() => reading.delete(accountId));
    reading.set(accountId, running);
    return joined(running);
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
    reserve: (accountId, bytes) => {
      const sum = accounts.get(accountId);
      if (sum === undefined) return true;
      if (sum.bytes + bytes > bytesMax) return false;
      sum.bytes += bytes;
      return true;
    },
  };
}
