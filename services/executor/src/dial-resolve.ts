/**
 * Looks up hosts without letting slow names hold up others. The system's resolver waits on a thread, and Node shares
 * few of them with files and cryptography; so names are asked for over the network first, where waiting costs nothing,
 * and what that does not know (hosts files, search domains, odd spellings) goes to the system, a few at a time.
 */

import { lookup, Resolver } from 'node:dns/promises';
import type { Resolve } from './address-policy.ts';

export interface ResolveOptions {
  /** Answers over the network: all addresses, or a rejection. */
  overNetwork?: Resolve;
  /** Answers on a thread. */
  bySystem?: Resolve;
  /** System look-ups at the same time; below the number of threads, which is 4 unless set otherwise. */
  systemMax?: number;
}

export function createResolve(options: ResolveOptions = {}): Resolve {
  const { overNetwork = createNetworkResolve(), bySystem = resolveBySystem, systemMax = 2 } = options;
  const limited = limit(bySystem, systemMax);
  return async (host) => {
    // A name without a dot is meant in a search domain, which only the system knows.
    if (!host.replace(/\.$/, '').includes('.')) return limited(host);
    return overNetwork(host).catch(() => limited(host));
  };
}

/** Asks the name servers of this machine, unless others are given (`127.0.0.1:53`). */
export function createNetworkResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    throw new Error('The name is not known to the name servers.');
  };
}

const resolveBySystem: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** At most `max` at the same time, the others in the order they came. */
function limit(resolve: Resolve, max: number): Resolve {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (host) => {
    if (running >= max) await new Promise<void>((go) => waiting.push(go));
    else running++;
    try {
      return await resolve(host);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
