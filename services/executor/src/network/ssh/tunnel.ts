/**
 * The connection to the bastion of one pool, which all connections of the pool share. It is opened for the first of them,
 * opened again once it has died, and closed with the last one.
 */

import { orAborted } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import type { ConnectDeps } from '../../ports/engine.ts';
import { sourceUnreachable } from '../../ports/engine.ts';
import type { ServerStream } from '../../ports/server-stream.ts';
import type { AddressPolicy } from '../address-policy.ts';
import { logInsWait } from '../dialer.ts';
import type { LoginAttempt } from '../login-attempts.ts';
import type { BastionConnection } from './connection.ts';
import { bastionUnreachable } from './errors.ts';

interface Entry {
  connection: Promise<BastionConnection>;
  /** The live connection; undefined until the log-in has ended. */
  live?: BastionConnection;
  users: number;
}

export interface BastionLease {
  connection: BastionConnection;
  /** Idempotent. */
  release(): void;
}

export class Tunnel {
  #entry: Entry | undefined;

  /** `open` must settle within a time limit of its own, because several callers wait for it. */
  async lease(open: () => Promise<BastionConnection>, signal: AbortSignal): Promise<BastionLease> {
    if (this.#entry === undefined || this.#entry.live?.closed) this.#entry = this.#begin(open);
    const entry = this.#entry;
    entry.users++;
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      entry.users--;
      if (entry.users === 0) this.#end(entry);
    };
    try {
      return { connection: await orAborted(entry.connection, signal), release };
    } catch (err) {
      release();
      throw err;
    }
  }

  #begin(open: () => Promise<BastionConnection>): Entry {
    const entry: Entry = { connection: open(), users: 0 };
    entry.connection.then(
      (live) => {
        entry.live = live;
        if (entry.users === 0) live.close();
      },
      () => this.#forget(entry),
    );
    return entry;
  }

  #end(entry: Entry): void {
    this.#forget(entry);
    entry.live?.close();
  }

  #forget(entry: Entry): void {
    if (this.#entry === entry) this.#entry = undefined;
  }
}

export interface TunnelDialOptions {
  tunnel: Tunnel;
  /** Connects to the bastion and logs in. */
  open(signal: AbortSignal): Promise<BastionConnection>;
  policy: Pick<AddressPolicy, 'checkBehind'>;
  /** For everything that one dial waits for. */
  connectTimeoutMs: number;
  /** Limits failed log-ins at the source. */
  logins?: Pick<LoginAttempt, 'admit' | 'reached'> | undefined;
}

/** Makes the dial function of one connection to a source behind a bastion, which resolves the names of servers. */
export function createTunnelDial(options: TunnelDialOptions): ConnectDeps['dial'] {
  const { policy, connectTimeoutMs, logins } = options;
  const reached = new Set<string>();
  return async (host, port, { signal, resolveAgain = false }) => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    let isWaiting = false;
    try {
      policy.checkBehind(host);
      const lease = await leaseBastion(options, bound);
      try {
        const { connection } = lease;
        const target = { address: connection.address, behind: host };
        isWaiting = true;
        if (resolveAgain || !reached.has(host)) await logins?.admit([target], port, bound);
        isWaiting = false;
        const stream: ServerStream = await connection.forward(host, port, bound);
        stream.once('close', lease.release);
        logins?.reached(target, port);
        if (!resolveAgain) reached.add(host);
        return stream;
      } catch (err) {
        lease.release();
        throw err;
      }
    } catch (err) {
      if (isWaiting && bound.aborted) throw logInsWait(err);
      throw err instanceof HubError ? err : sourceUnreachable(err);
    }
  };
}

async function leaseBastion(
  { tunnel, open, connectTimeoutMs }: TunnelDialOptions,
  signal: AbortSignal,
): Promise<BastionLease> {
  try {
    return await tunnel.lease(() => open(AbortSignal.timeout(connectTimeoutMs)), signal);
  } catch (err) {
    throw err instanceof HubError ? err : bastionUnreachable(err);
  }
}
