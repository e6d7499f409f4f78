/**
 * Resolves hosts so that slow names of one account do not delay others. The system's resolver blocks a thread, cannot be
 * cancelled, and shares Node's four threads with files, cryptography and compression. Therefore this module reads the
 * hosts file itself, queries name servers over the network, where waiting is cheap and can be cancelled, and asks the
 * system's resolver only for other names. docs/adr/0010-names.md explains how the order differs from the system's.
 */

import { lookup, Resolver } from 'node:dns/promises';
import { onAbort } from '@datahub/service-kit/call/abort';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import type { Services } from '../ports/engine.ts';
import type { LookupContext, Resolve } from './address-policy.ts';
import { createLocalNames, type LocalNames } from './host-names.ts';

/** The first addresses of a full name, or none. Rejects if the name servers do not respond in time. */
export type QueryNameServers = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface ResolveOptions {
  localNames?: LocalNames;
  queryNameServers?: QueryNameServers;
  /** Blocks a thread for an unbounded time. */
  querySystem?: (host: string) => Promise<readonly string[]>;
}

/**
 * Of each family. An answer has up to 4,000, each of which is checked, dialled and counted as a log-in: those of 40 names
 * took seconds.
 */
const addressesMax = 16;

/**
 * Each permit is a socket for at most a few seconds, and then up to 20 ms of the main thread, in which c-ares reads answers
 * of 64 KB.
 */
const networkLimits = { allMax: 256, accountMax: 6, waitingMax: 1_000 };
/** Each permit is one of the four threads for up to a minute. */
const systemLimits = { allMax: 2, accountMax: 1, waitingMax: 1_000 };

export function createResolve(options: ResolveOptions = {}): Resolve {
  const {
    localNames = createLocalNames(),
    queryNameServers = createNameServerQuery(),
    querySystem = lookupAll,
  } = options;
  const network = createFairSemaphore(networkLimits);
  const system = createFairSemaphore(systemLimits);

  const resolveFullNames: Resolve = async (host, { accountId, signal }) => {
    const release = await network.acquire(accountId, signal);
    try {
      for (const name of localNames.fullNamesOf(host)) {
        const addresses = await queryNameServers(name, signal);
        if (addresses.length > 0) return addresses;
      }
      return [];
    } finally {
      release();
    }
  };

  return async (host, ctx) => {
    const local = localNames.addressesOf(host);
    if (local.length > 0) return local;
    const known = isLegacyAddress(host) ? [] : await resolveFullNames(host, ctx);
    if (known.length > 0) return known;
    const release = await system.acquire(ctx.accountId, ctx.signal);
    // The permit is held until the thread is free, even if the caller no longer waits.
    return querySystem(host).finally(release);
  };
}

/** `127.1`, `0x7f000001`: forms of addresses that only the system understands. */
const isLegacyAddress = (host: string) => /(^|\.)(\d+|0x[\da-f]*)\.?$/i.test(host);

const noAnswer = new Set(['ETIMEOUT', 'ECANCELLED']);

/** Queries the name servers of this machine, unless others are given (`127.0.0.1:53`). */
export function createNameServerQuery(servers?: readonly string[]): QueryNameServers {
  return async (name, signal) => {
    signal.throwIfAborted();
    // One resolver for each query: it can be cancelled alone, and it uses the current name servers.
    const resolver = new Resolver({ timeout: 1_000, tries: 2 });
    if (servers) resolver.setServers(servers);
    using _listening = onAbort(signal, () => resolver.cancel());
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value.slice(0, addressesMax) : [],
    );
    const silent = answers.find((answer) => answer.status === 'rejected' && noAnswer.has(answer.reason.code));
    // Do not ask the system: it would query the same servers, and wait longer.
    if (addresses.length === 0 && silent !== undefined) {
      throw new Error('The name servers did not respond.', { cause: silent });
    }
    return addresses;
  };
}

const lookupAll = async (host: string) => {
  const found = await lookup(host, { all: true, order: 'verbatim' });
  return found.slice(0, 2 * addressesMax).map(({ address }) => address);
};

export type ServiceResolve = (service: string, name: string, ctx: LookupContext) => Promise<Services>;

export interface ServiceResolveOptions {
  /** The name servers of this machine by default (`127.0.0.1:53`). */
  servers?: readonly string[];
  /** For one look-up, the wait for a permit included. */
  timeoutMs?: number;
}

const serviceLimits = { allMax: 64, accountMax: 4, waitingMax: 1_000 };

/** Resolves the SRV (RFC 2782) and TXT records of a name, fairly by account. */
export function createServiceResolve(options: ServiceResolveOptions = {}): ServiceResolve {
  const { servers, timeoutMs = 3_000 } = options;
  const network = createFairSemaphore(serviceLimits);
  return async (service, name, { accountId, signal }) => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const release = await network.acquire(accountId, bound);
    const resolver = new Resolver({ timeout: 1_000, tries: 2 });
    if (servers) resolver.setServers(servers);
    using _listening = onAbort(bound, () => resolver.cancel());
    try {
      const [records, texts] = await Promise.all([
        resolver.resolveSrv(`_${service}._tcp.${name}`),
        resolver.resolveTxt(name).catch(noTexts),
      ]);
      return {
        servers: records.map((record) => ({ host: record.name, port: record.port })),
        texts: texts.map((parts) => parts.join('')),
      };
    } finally {
      release();
    }
  };
}

function noTexts(err: { code?: string }): string[][] {
  if (err.code === 'ENODATA' || err.code === 'ENOTFOUND') return [];
  throw err;
}
