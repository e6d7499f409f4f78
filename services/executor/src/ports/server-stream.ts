/** What adapters read from and write to. */

import type { Duplex } from 'node:stream';

/** A connection to a server of a source: a TCP socket, or a stream through a bastion. */
export interface ServerStream extends Duplex {
  /** Of the source. The accounts take turns at what is read from such streams. */
  readonly accountId?: string | undefined;
  /** Of TCP; undefined once the socket is closed, and for a stream through a bastion. */
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** The room of an account for what its connections keep of prepared statements. */
export interface KeptOfAccount {
  /** False if there is none. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** What the connections of an account share. */
export interface SharesOfAccount {
  takeLongRow?: TakeLongRow;
  takeReplyRoom?: TakeReplyRoom;
  kept?: KeptOfAccount;
}

/** Takes a place for collecting a long row. Resolves with the function that gives it back. */
export type TakeLongRow = () => Promise<() => void>;

/** The same for the bytes of a reply. */
export type TakeReplyRoom = (bytes: number) => Promise<() => void>;
