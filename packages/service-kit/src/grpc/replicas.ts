/** The replicas of a service: every address behind its names, looked up again every few seconds. */

import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';

export interface ReplicasOptions<Replica> {
  /** `host:port` each; a name stands for all its addresses. */
  addresses: readonly string[];
  /** `host` is the service's name in certificates, which do not name the addresses behind it. */
  open: (address: string, host: string) => Replica;
  /** Called once for each replica. */
  close: (replica: Replica) => void;
  /** A replica whose address is gone is closed as soon as this is true; at once by default. */
  isIdle?: (replica: Replica) => boolean;
  lookUp?: (host: string) => Promise<readonly string[]>;
  refreshMs?: number;
}

export interface Replicas<Replica> {
  /** By address, without those whose address is gone. */
  readonly current: ReadonlyMap<string, Replica>;
  close(): void;
}

/** Resolves after the first look-up, even if it found nothing. */
export async function openReplicas<Replica>({
  addresses,
  open,
  close,
  isIdle = () => true,
  lookUp = lookUpAll,
  refreshMs = 2_000,
}: ReplicasOptions<Replica>): Promise<Replicas<Replica>> {
  const current = new Map<string, Replica>();
  const retiring = new Set<Replica>();
  const host = hostOf(addresses[0] ?? '');
  // Addresses stay the same; names do not.
  const isFixed = addresses.every((address) => isAddress(hostOf(address)));
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const refresh = async () => {
    const found = await findAddresses(addresses, lookUp);
    if (closed) return;
    // A failed look-up says nothing about the replicas behind the name.
    if (found.size > 0) {
      for (const address of found) {
        if (!current.has(address)) current.set(address, open(address, host));
      }
      for (const [address, replica] of current) {
        if (found.has(address)) continue;
        current.delete(address);
        retiring.add(replica);
      }
    }
    for (const replica of retiring) {
      if (!isIdle(replica)) continue;
      retiring.delete(replica);
      close(replica);
    }
    if (!isFixed || retiring.size > 0) timer = setTimeout(refresh, refreshMs).unref();
  };

  await refresh();
  return {
    current,
    close: () => {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      for (const replica of [...current.values(), ...retiring]) close(replica);
    },
  };
}

async function findAddresses(
  addresses: readonly string[],
  lookUp: (host: string) => Promise<readonly string[]>,
): Promise<Set<string>> {
  const found = await Promise.all(
    addresses.map(async (address) => {
      const port = address.slice(address.lastIndexOf(':') + 1);
      const ips = await lookUp(hostOf(address)).catch(() => []);
      return ips.map((ip) => `${ip}:${port}`);
    }),
  );
  return new Set(found.flat());
}

/** IPv6 addresses are in brackets, and are used only if there is no IPv4 address. */
const isAddress = (host: string) => isIPv4(host) || host.startsWith('[');

async function lookUpAll(host: string): Promise<string[]> {
  if (isAddress(host)) return [host];
  const found = await lookup(host, { all: true });
  const ipv4 = found.filter(({ family }) => family === 4).map(({ address }) => address);
  return ipv4.length > 0 ? ipv4 : found.map(({ address }) => `[${address}]`);
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}
