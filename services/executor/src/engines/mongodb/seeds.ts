/** The first servers of a source: the configured hosts, or those that DNS lists for a name. */

import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import { toConnectError } from './errors.ts';
import { isMember, membersMax } from './hello.ts';

export interface Host {
  host: string;
  port: number;
}

export interface Seeds {
  hosts: Host[];
  /** True if the hub uses only this host and ignores other members that the host names. */
  isDirect: boolean;
  replicaSet: string | undefined;
  authSource: string | undefined;
}

export async function seedsOf(settings: ConnectSettings, deps: ConnectDeps): Promise<Seeds> {
  const { host, port, hosts = [], replicaSet, authSource } = settings;
  if (settings.srv) return byName(settings, deps);
  const all = [{ host, port }, ...hosts.filter((other) => other.host !== host || other.port !== port)];
  const isDirect = all.length === 1 && replicaSet === undefined;
  return { hosts: all, isDirect, replicaSet, authSource };
}

/** Implements `mongodb+srv` (the specification "Initial DNS Seedlist Discovery"). */
async function byName(settings: ConnectSettings, deps: ConnectDeps): Promise<Seeds> {
  const { host } = settings;
  try {
    if (deps.resolveService === undefined) throw new Error('SRV records cannot be resolved here.');
    const { servers, texts } = await deps.resolveService('mongodb', host, deps.signal);
    if (servers.length === 0 || servers.length > membersMax)
      throw new Error('The name has no usable SRV records.');
    for (const server of servers) requireKin(server, host);
    if (texts.length > 1) throw new Error('The name has more than one TXT record.');
    const told = new URLSearchParams(texts[0] ?? '');
    for (const name of told.keys()) {
      if (name !== 'authSource' && name !== 'replicaSet')
        throw new Error(`The TXT record of the name has the unsupported option ${name}.`);
    }
    return {
      hosts: servers,
      isDirect: false,
      replicaSet: settings.replicaSet ?? told.get('replicaSet') ?? undefined,
      authSource: settings.authSource ?? told.get('authSource') ?? undefined,
    };
  } catch (err) {
    throw toConnectError(err);
  }
}

/** Throws if an SRV record names a host outside of the domain of the name itself. */
function requireKin({ host, port }: Host, name: string): void {
  const labels = plain(name).split('.');
  const domain = `.${(labels.length < 3 ? labels : labels.slice(1)).join('.')}`;
  if (!isMember(`${host}:${port}`) || !plain(host).endsWith(domain))
    throw new Error('The SRV records name hosts of another domain.');
}

const plain = (name: string) => name.toLowerCase().replace(/\.$/, '');
