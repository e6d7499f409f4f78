/**
 * Bounds what the connections of a process keep of prepared statements. The columns of a wide result take a megabyte, and
 * there are hundreds of connections with up to a hundred statements each.
 */

import { FairUsage } from '@datahub/service-kit/usage';
import type { KeptOfAccount } from '../../ports/server-stream.ts';

const bytesMaxDefault = 64 * 1_048_576;

/** About what a column takes, with what formats derive from it, besides its texts. */
const columnBytes = 512;
/** A text is kept in up to four places. */
const textCopies = 4;

export const weightOf = (columns: number, textBytes: number): number =>
  columns * columnBytes + textBytes * textCopies;

/** Of all connections of a process. */
export class KeptStatements {
  readonly #usage: FairUsage;

  constructor(bytesMax = bytesMaxDefault) {
    this.#usage = new FairUsage(bytesMax);
  }

  of(accountId: string): KeptOfAccount {
    return {
      take: (bytes) => {
        if (!this.#usage.hasRoom(accountId, { wanted: bytes })) return false;
        this.#usage.add(accountId, bytes);
        return true;
      },
      give: (bytes) => this.#usage.add(accountId, -bytes),
    };
  }
}

/** Of one connection. */
export class KeptOfConnection implements KeptOfAccount {
  readonly #account: KeptOfAccount | undefined;
  #bytes = 0;
  #isClosed = false;

  constructor(account: KeptOfAccount | undefined) {
    this.#account = account;
  }

  take(bytes: number): boolean {
    if (this.#isClosed || this.#account?.take(bytes) === false) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes -= bytes;
    this.#account?.give(bytes);
  }

  clear(): void {
    this.give(this.#bytes);
  }

  /** The connection is closed: it keeps nothing from now on. */
  close(): void {
    this.clear();
    this.#isClosed = true;
  }
}
