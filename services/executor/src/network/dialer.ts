/** Opens all sockets to users' databases: checks the host, then dials only the addresses that were checked. */

import type { Socket } from 'node:net';
import { onAbort, orAborted } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import { type ConnectDeps, sourceUnreachable } from '../ports/engine.ts';
import { type AddressPolicy, AddressRefused, type CheckedAddress } from './address-policy.ts';
import type { LoginAttempt } from './login-attempts.ts';

import { openSocket } from './shared-read-buffer.ts';

/** Opens TCP sockets. */
export type Dial = (...args: Parameters<ConnectDeps['dial']>) => Promise<Socket>;

export interface DialOptions {
  policy: AddressPolicy;
  /** Name look-ups are served round-robin by account. */
  accountId: string;
  /** For name resolution and all attempts together. */
  connectTimeoutMs: number;
  /** Limits failed log-ins. */
  logins?: Pick<LoginAttempt, 'admit' | 'reached'> | undefined;
  /** True for a port that the hub itself listens on; it is refused like a forbidden address. */
  owns?: (address: string, port: number) => boolean;
  /** How long to wait for one address before the next is dialled in parallel (RFC 8305). */
  staggerMs?: number;
  /** Opens a socket to a checked address. Tests replace it. */
  connect?: (target: CheckedAddress, port: number) => Socket;
}

const keepAliveMs = 30_000;

/**
 * Makes the dial function of one connection to a source. Its first call for a host resolves and checks it. Later ones,
 * such as the one that cancels a statement, use the address that was reached, since a name can have several servers.
 * All failures are SOURCE_UNREACHABLE, but SOURCE_AUTH if too many log-ins have failed, and SOURCE_BUSY if others did not
 * end in time.
 */
export function createDial(options: DialOptions): Dial {
  const {
    policy,
    accountId,
    connectTimeoutMs,
    staggerMs = 250,
    connect = openChecked,
    owns = () => false,
    logins,
  } = options;
  const reached = new Map<string, CheckedAddress>();
  return async (host, port, { signal, resolveAgain = false }) => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    let isWaiting = false;
    try {
      const known = resolveAgain ? undefined : reached.get(host);
      const ctx = { accountId, signal: bound };
      const targets = known ? [known] : interleave(await orAborted(policy.check(host, ctx), bound));
      if (targets.some(({ address }) => owns(address, port)))
        throw new AddressRefused('The hub itself listens on the port.');
      isWaiting = true;
      const admitted = known || !logins ? targets : await logins.admit(targets, port, bound);
      isWaiting = false;
      const { socket, target } = await race({ targets: admitted, port, staggerMs, connect, signal: bound });
      logins?.reached(target, port);
      if (!resolveAgain) reached.set(host, target);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
      return Object.assign(socket, { accountId });
    } catch (err) {
      if (err instanceof HubError && err.code === 'SOURCE_AUTH') throw err;
      throw isWaiting && bound.aborted ? logInsWait(err) : sourceUnreachable(err);
    }
  };
}

export const logInsWait = (cause: unknown) =>
  new HubError('SOURCE_BUSY', 'Too many log-ins at the source are in progress. Try again later.', {
    cause,
    stage: 'connect',
    retryable: true,
  });

function openChecked(target: CheckedAddress, port: number): Socket {
  return openSocket({ host: target.address, port, family: target.family });
}

/** Alternates the address families, so that one that does not work costs one stagger. */
function interleave(targets: readonly CheckedAddress[]): CheckedAddress[] {
  const first = targets[0]?.family;
  const same = targets.filter(({ family }) => family === first);
  const other = targets.filter(({ family }) => family !== first);
  return same.flatMap((target, i) => [target, ...other.slice(i, i + 1)]).concat(other.slice(same.length));
}

interface Race {
  targets: CheckedAddress[];
  port: number;
  staggerMs: number;
  connect: (target: CheckedAddress, port: number) => Socket;
  signal: AbortSignal;
}

interface Reached {
  socket: Socket;
  target: CheckedAddress;
}

/** Dials the targets one after another. The first to connect wins, and the other sockets are destroyed. */
function race({ targets, port, staggerMs, connect, signal }: Race): Promise<Reached> {
  return new Promise((resolve, reject) => {
    const pending = new Set<Socket>();
    let next = 0;
    let timer: NodeJS.Timeout | undefined;
    let settled = false;

    const settle = () => {
      settled = true;
      clearTimeout(timer);
      listening[Symbol.dispose]();
      for (const socket of pending) socket.destroy();
    };
    const fail = (cause: unknown) => {
      settle();
      reject(cause);
    };
    const start = () => {
      clearTimeout(timer);
      const target = targets[next++];
      if (target === undefined) return;
      const socket = connect(target, port);
      pending.add(socket);
      const failed = (cause: Error) => {
        pending.delete(socket);
        if (settled) return;
        if (next < targets.length) start();
        else if (pending.size === 0) fail(cause);
      };
      socket.on('error', failed);
      socket.once('connect', () => {
        if (settled) return;
        pending.delete(socket);
        settle();
        socket.off('error', failed);
        resolve({ socket, target });
      });
      timer = setTimeout(start, staggerMs);
    };

    if (signal.aborted) return reject(signal.reason);
    const listening = onAbort(signal, () => fail(signal.reason));
    start();
  });
}
