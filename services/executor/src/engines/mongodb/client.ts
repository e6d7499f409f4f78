/**
 * The driver's client for one source. It discovers the servers, logs in and pools sockets, only through the proxy in
 * proxy.ts.
 */

import { isIP } from 'node:net';
import { authMechanisms } from '@datahub/contract/source-settings';
import { onAbort } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import { MongoClient, type MongoClientOptions, type TopologyDescription } from 'mongodb';
import { startTls } from '../../network/tls.ts';
import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import { logInError, toConnectError, toLogInError } from './errors.ts';
import { isMember, membersMax } from './hello.ts';
import type { LongReply } from './long-reply.ts';
import type { ProxyCredentials, SocksProxy } from './socks-proxy.ts';

/**
 * The most sockets to one server: more than the largest pool has connections, because cancelling a command needs
 * another.
 */
const socketsMax = 128;
const idleTimeoutMs = 60_000;
/**
 * The time limit of the wait for a suitable server, such as a new primary. It is shorter than the wait for a
 * connection.
 */
const selectionTimeoutMs = 4_000;
const socketConnectTimeoutMs = 4_500;
const heartbeatMs = 10_000;
/** The time limit for ending the sessions at the servers. */
const farewellMs = 1_000;

export interface SourceClient {
  readonly client: MongoClient;
  readonly serverVersion: string;
  /** False for FerretDB, whose `distinct` rejects `maxTimeMS`. The hub cancels it at the timeout. */
  readonly timesDistinct: boolean;
  /** True if commands go to one known server or to a primary, so that another socket can cancel them. */
  readonly isStoppable: boolean;
  /** Of each session, by its id in hexadecimal. */
  readonly longReplies: Map<string, LongReply>;
  /** The listener is called each time the driver closes its connections to a server. */
  onLost(listener: () => void): void;
  offLost(listener: () => void): void;
  close(): void;
}

/** Rejects with the same errors as an engine's `connect`. */
export async function openClient(
  settings: ConnectSettings,
  deps: ConnectDeps,
  proxy: SocksProxy,
): Promise<SourceClient> {
  requireMechanism(settings);
  const seeds = await seedsOf(settings, deps);
  const addresses = toAddresses(seeds);
  const reach = createReach(settings, deps);
  let fault: unknown;
  const longReplies = new Map<string, LongReply>();
  const credentials = await proxy.admit({
    reach: (host, port, signal) => reach(addresses.hostOf(host), port, signal),
    beforeLong: (session = '', bytes) => longReplies.get(session)?.begin(bytes),
    onFault: (err) => {
      fault = err;
    },
  });
  let client: MongoClient | undefined;
  try {
    client = new MongoClient(addresses.uri, toOptions(settings, seeds, credentials));
    const opened = client;
    // Each connection of the pool listens.
    opened.setMaxListeners(0);
    const server = await untilConnected(client, deps.signal);
    const { readPreference = 'primary' } = settings;
    return {
      client: opened,
      ...server,
      longReplies,
      isStoppable: seeds.isDirect || readPreference === 'primary',
      onLost: (listener) => void opened.on('connectionPoolCleared', listener),
      offLost: (listener) => void opened.off('connectionPoolCleared', listener),
      close: () => closeClient(opened, credentials),
    };
  } catch (err) {
    credentials.leave();
    if (client !== undefined) closeClient(client, credentials);
    if (deps.signal.aborted) throw toConnectError(deps.signal.reason);
    throw fault === undefined ? toLogInError(err, settings) : toConnectError(fault);
  }
}

/** Ends the sessions at the servers within a time limit, then closes the sockets. */
function closeClient(client: MongoClient, credentials: ProxyCredentials): void {
  const cut = setTimeout(credentials.leave, farewellMs);
  void client
    .close()
    .catch(() => {})
    .finally(() => {
      clearTimeout(cut);
      credentials.leave();
    });
}

/** Rejects mechanisms that would bypass the proxy or send the password to an unverified server. */
function requireMechanism({ authMechanism, tls }: ConnectSettings): void {
  if (authMechanism === undefined) return;
  if (!authMechanisms.some((known) => known === authMechanism))
    throw logInError(new Error('unknown mechanism'));
  if (authMechanism !== 'PLAIN' || tls.mode === 'verify-full') return;
  throw new HubError('SOURCE_TLS', 'The mechanism PLAIN needs tls.mode verify-full.', {
    stage: 'connect',
    retryable: false,
  });
}

/**
 * Connects and starts TLS. MongoDB cannot report whether it supports TLS, so the mode `prefer` tries it. If that fails,
 * this connection and later ones are not encrypted.
 */
function createReach(settings: ConnectSettings, deps: ConnectDeps) {
  const { tls } = settings;
  const plain = new Set<string>();
  return async (host: string, port: number, signal: AbortSignal) => {
    const at = `${host}:${port}`;
    const secure = async () => {
      const socket = await deps.dial(host, port, { signal, resolveAgain: true });
      using _listening = onAbort(signal, () => void socket.destroy());
      return await startTls(socket, { host, tls });
    };
    if (tls.mode !== 'disable' && !plain.has(at)) {
      try {
        return await secure();
      } catch (err) {
        const hasNone = err instanceof HubError && err.code === 'SOURCE_TLS';
        if (tls.mode !== 'prefer' || !hasNone || signal.aborted) throw err;
        plain.add(at);
      }
    }
    return deps.dial(host, port, { signal, resolveAgain: true });
  };
}

interface Addresses {
  /** Contains only hosts; everything else is in the driver's options. */
  uri: string;
  /** Returns the host that a placeholder name in the driver's URI stands for. */
  hostOf(name: string): string;
}

/** Replaces hosts that the driver's URI parser would misread or reject with placeholder names. */
function toAddresses({ hosts }: Seeds): Addresses {
  const standIns = new Map<string, string>();
  const named = hosts.map(({ host, port }, i) => {
    if (isIP(host) === 6 && !host.includes('%')) return `[${host}]:${port}`;
    if (commonHost.test(host)) return `${host}:${port}`;
    const name = `host-${i}.invalid`;
    standIns.set(name, host);
    return `${name}:${port}`;
  });
  return { uri: `mongodb://${named.join(',')}/`, hostOf: (name) => standIns.get(name) ?? name };
}

const commonHost = /^[a-z0-9](?:[a-z0-9-.]{0,198}[a-z0-9])?$/i;

function toOptions(
  settings: ConnectSettings,
  seeds: Seeds,
  credentials: ProxyCredentials,
): MongoClientOptions {
  const { user, password, authMechanism } = settings;
  const { replicaSet, authSource, isDirect } = seeds;
  const isX509 = authMechanism === 'MONGODB-X509';
  const isExternal = isX509 || authMechanism === 'PLAIN';
  const logsIn = isX509 || user !== '';
  return {
    appName: 'datahub',
    directConnection: isDirect,
    ...(replicaSet === undefined ? {} : { replicaSet }),
    ...(logsIn && user !== '' ? { auth: { username: user, ...(isX509 ? {} : { password }) } } : {}),
    ...(logsIn && authMechanism !== undefined ? { authMechanism } : {}),
    ...(logsIn ? { authSource: isExternal ? '$external' : (authSource ?? 'admin') } : {}),
    proxyHost: credentials.host,
    proxyPort: credentials.port,
    proxyUsername: credentials.username,
    proxyPassword: credentials.password,
    // The proxy does TLS.
    tls: false,
    retryReads: false,
    retryWrites: false,
    maxAdaptiveRetries: 0,
    maxPoolSize: socketsMax,
    maxConnecting: 10,
    maxIdleTimeMS: idleTimeoutMs,
    waitQueueTimeoutMS: selectionTimeoutMs,
    serverSelectionTimeoutMS: selectionTimeoutMs,
    connectTimeoutMS: socketConnectTimeoutMs,
    heartbeatFrequencyMS: heartbeatMs,
    // Polling avoids a second monitoring connection to each server.
    serverMonitoringMode: 'poll',
  };
}

/** Resolves to the server's version. Rejects once every server has failed; the driver itself would keep trying. */
async function untilConnected(
  client: MongoClient,
  signal: AbortSignal,
): Promise<Pick<SourceClient, 'serverVersion' | 'timesDistinct'>> {
  const { promise: hopeless, reject } = Promise.withResolvers<never>();
  hopeless.catch(() => {});
  const look = ({ newDescription }: { newDescription: TopologyDescription }) => {
    const servers = [...newDescription.servers.values()];
    const [first] = servers;
    if (servers.every(({ error }) => error !== null))
      reject(first?.error ?? new Error('no server of this set'));
  };
  client.on('topologyDescriptionChanged', look);
  using _listening = onAbort(signal, () => reject(signal.reason));
  const open = async () => {
    await client.connect();
    const { version, ferretdbVersion } = await client.db('admin').command({ buildInfo: 1 });
    const serverVersion = `MongoDB ${String(version).slice(0, 32)}`;
    return { serverVersion, timesDistinct: ferretdbVersion === undefined };
  };
  try {
    return await Promise.race([open(), hopeless]);
  } finally {
    client.off('topologyDescriptionChanged', look);
  }
}

export interface Host {
  host: string;
  port: number;
}

interface Seeds {
  hosts: Host[];
  /** True if the hub uses only this host and ignores other members that the host names. */
  isDirect: boolean;
  replicaSet: string | undefined;
  authSource: string | undefined;
}

async function seedsOf(settings: ConnectSettings, deps: ConnectDeps): Promise<Seeds> {
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
  const labels = normalized(name).split('.');
  const domain = `.${(labels.length < 3 ? labels : labels.slice(1)).join('.')}`;
  if (!isMember(`${host}:${port}`) || !normalized(host).endsWith(domain))
    throw new Error('The SRV records name hosts of another domain.');
}

const normalized = (name: string) => name.toLowerCase().replace(/\.$/, '');
