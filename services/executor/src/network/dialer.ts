/** The only way out to users' databases: checks the host, then dials exactly the addresses that were checked. */

import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import type { ConnectDeps } from '../engine.ts';
import { type AddressPolicy, AddressRefused, type CheckedAddress } from './address-policy.ts';
import { openSocket } from './shared-read-buffer.ts';

export type Dial = ConnectDeps['dial'];

export interface DialOptions {
  policy: AddressPolicy;
  /** Accounts take turns at looking up names. */
  accountId: string;
  /** Bounds name resolution and all attempts together. */
  connectTimeoutMs: number;
  /** True for a port of the hub's own, which is refused like an address. */
  owns?: (address: string, port: number) => boolean;
  /** How long one address may stay silent before the next is tried beside it (RFC 8305). */
  staggerMs?: number;
  /** Opens a socket to an address that was checked; tests watch it. */
  connect?: (target: CheckedAddress, port: number) => Socket;
}

const keepAliveMs = 30_000;

/**
 * One text and one code for an unknown host, a closed port, silence and a refusal by policy: the hub is no port
 * scanner. What it was stays in `cause`.
 */
export function sourceUnreachable(cause: unknown): HubError {
  return new HubError(
    'SOURCE_UNREACHABLE',
    'The source cannot be reached. Check its host and port, and that it takes connections from the hub.',
    { cause, stage: 'connect', retryable: true },
  );
}

/**
 * Dials for one connection to a source. The first call resolves and checks; further ones for the same host, such as the
 * side connection of a cancel, go to the very address that was reached, for a name can stand for several servers.
 * Rejects with SOURCE_UNREACHABLE, whatever went wrong.
 */
export function createDial(options: DialOptions): Dial {
  const {
    policy,
    accountId,
    connectTimeoutMs,
    staggerMs = 250,
    connect = openChecked,
    owns = () => false,
  } = options;
  const reached = new Map<string, CheckedAddress>();
  return async (host, port, signal, { anew = false } = {}) => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    try {
      const known = anew ? undefined : reached.get(host);
      const asker = { accountId, signal: bound };
      const targets = known ? [known] : interleave(await orAborted(policy.check(host, asker), bound));
      if (targets.some(({ address }) => owns(address, port)))
        throw new AddressRefused('The port is the hub’s own.');
      const { socket, target } = await race({ targets, port, staggerMs, connect, signal: bound });
      if (!anew) reached.set(host, target);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
      return socket;
    } catch (err) {
      throw sourceUnreachable(err);
    }
  };
}

function openChecked(target: CheckedAddress, port: number): Socket {
  return openSocket({ host: target.address, port, family: target.family });
}

/** Families take turns, so that a dead one costs one stagger. */
function interleave(targets: readonly CheckedAddress[]): CheckedAddress[] {
  const first = targets[0]?.family;
  const same = targets.filter(({ family }) => family === first);
  const other = targets.filter(({ family }) => family !== first);
  return same.flatMap((target, i) => [target, ...other.slice(i, i + 1)]).concat(other.slice(same.length));
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
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

/** Starts the targets one after another; the first that connects wins and the others are destroyed. */
function race({ targets, port, staggerMs, connect, signal }: Race): Promise<Reached> {
  return new Promise((resolve, reject) => {
    const pending = new Set<Socket>();
    let next = 0;
    let timer: NodeJS.Timeout | undefined;
    let settled = false;

    const settle = () => {
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      for (const socket of pending) socket.destroy();
    };
    const fail = (cause: unknown) => {
      settle();
      reject(cause);
    };
    const abort = () => fail(signal.reason);
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

    if (signal.aborted) return fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    start();
  });
}
