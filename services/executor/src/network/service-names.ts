/** The servers that a name stands for in DNS, asked of the name servers, never on a thread. */

import { Resolver } from 'node:dns/promises';
import type { Services } from '../engine.ts';
import type { Asker } from './address-policy.ts';
import { createPlaces } from './lookup-places.ts';

export type ServiceResolve = (service: string, name: string, asker: Asker) => Promise<Services>;

export interface ServiceResolveOptions {
  /** Those of this machine unless given (`127.0.0.1:53`). */
  servers?: readonly string[];
  /** Of one look-up, the wait for its turn included. */
  timeoutMs?: number;
}

const places = { allMax: 64, accountMax: 8, waitingMax: 1_000 };

/** SRV (RFC 2782) and TXT records of a name. Accounts take turns. */
export function createServiceResolve(options: ServiceResolveOptions = {}): ServiceResolve {
  const { servers, timeoutMs = 3_000 } = options;
  const network = createPlaces(places);
  return async (service, name, { accountId, signal }) => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const giveBack = await network.take(accountId, bound);
    const resolver = new Resolver({ timeout: 1_000, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    bound.addEventListener('abort', cancel, { once: true });
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
      bound.removeEventListener('abort', cancel);
      giveBack();
    }
  };
}

function noTexts(err: { code?: string }): string[][] {
  if (err.code === 'ENODATA' || err.code === 'ENOTFOUND') return [];
  throw err;
}
