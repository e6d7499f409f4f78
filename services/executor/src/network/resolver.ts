/**
 * Looks up hosts so that slow names of one account hold up nobody else. The system's resolver waits on a thread, cannot
 * be stopped, and shares Node's four threads with files, cryptography and compression. So the hosts file is read here,
 * name servers are asked over the network, where waiting costs nothing and ends with its caller, and the system is asked
 * only for what these do not know. docs/adr/0010-names.md says what that means for the order of the system's own.
 */

import { lookup, Resolver } from 'node:dns/promises';
import type { Resolve } from './address-policy.ts';
import { createLocalNames, type LocalNames } from './host-names.ts';
import { createPlaces } from './lookup-places.ts';

/** All addresses of a full name, none if the name servers know none; rejects when they do not answer in time. */
export type AskNetwork = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface ResolveOptions {
  localNames?: LocalNames;
  askNetwork?: AskNetwork;
  /** Answers on a thread, for as long as it likes. */
  askSystem?: (host: string) => Promise<readonly string[]>;
}

/** Each is a socket for at most a few seconds. */
const networkPlaces = { allMax: 256, accountMax: 32, waitingMax: 1_000 };
/** Each is one of the four threads, for up to a minute. */
const systemPlaces = { allMax: 2, accountMax: 1, waitingMax: 1_000 };

export function createResolve(options: ResolveOptions = {}): Resolve {
  const {
    localNames = createLocalNames(),
    askNetwork = createAskNetwork(),
    askSystem = askSystemResolver,
  } = options;
  const network = createPlaces(networkPlaces);
  const system = createPlaces(systemPlaces);

  const askForFullNames: Resolve = async (host, { accountId, signal }) => {
    const giveBack = await network.take(accountId, signal);
    try {
      for (const name of localNames.fullNamesOf(host)) {
        const addresses = await askNetwork(name, signal);
        if (addresses.length > 0) return addresses;
      }
      return [];
    } finally {
      giveBack();
    }
  };

  return async (host, asker) => {
    const local = localNames.addressesOf(host);
    if (local.length > 0) return local;
    const known = isOddAddress(host) ? [] : await askForFullNames(host, asker);
    if (known.length > 0) return known;
    const giveBack = await system.take(asker.accountId, asker.signal);
    // The place is taken until the thread is free, whether the caller still waits or not.
    return askSystem(host).finally(giveBack);
  };
}

/** `127.1`, `0x7f000001`: addresses in forms that the system alone understands. */
const isOddAddress = (host: string) => /(^|\.)(\d+|0x[\da-f]*)\.?$/i.test(host);

const noAnswer = new Set(['ETIMEOUT', 'ECANCELLED']);

/** Asks the name servers of this machine, unless others are given (`127.0.0.1:53`). */
export function createAskNetwork(servers?: readonly string[]): AskNetwork {
  return async (name, signal) => {
    signal.throwIfAborted();
    // One for each question: it can be cancelled alone, and it knows the name servers as they are set now.
    const resolver = new Resolver({ timeout: 1_000, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.removeEventListener('abort', cancel);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const silent = answers.find((answer) => answer.status === 'rejected' && noAnswer.has(answer.reason.code));
    // The system would ask the same servers, and wait for them longer.
    if (addresses.length === 0 && silent !== undefined) {
      throw new Error('The name servers do not answer for the name.', { cause: silent });
    }
    return addresses;
  };
}

const askSystemResolver = async (host: string) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
