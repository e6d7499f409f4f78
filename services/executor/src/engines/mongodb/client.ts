/** The driver's client of one source: it finds the servers, logs in and keeps the sockets; every dial goes by the door. */

import { isIP } from 'node:net';
import { authMechanisms } from '@datahub/contract/source-settings';
import { HubError } from '@datahub/service-kit/call/error';
import { MongoClient, type MongoClientOptions, type TopologyDescription } from 'mongodb';
import type { ConnectDeps, ConnectSettings } from '../../engine.ts';
import { startTls } from '../../network/tls.ts';
import type { Door, Ticket } from './door.ts';
import { logInError, toConnectError, toLogInError } from './errors.ts';
import { type Seeds, seedsOf } from './seeds.ts';

/** Sockets to one server: more than the largest pool has connections, since stopping takes one beside them. */
const socketsMax = 128;
const idleTimeoutMs = 60_000;
/** For a server that takes the command, such as a new primary; below what an execution waits for a connection. */
const selectionTimeoutMs = 4_000;
const socketConnectTimeoutMs = 4_500;
const heartbeatMs = 10_000;
/** How long its sessions may take to be ended. */
const farewellMs = 1_000;

export interface SourceClient {
  readonly client: MongoClient;
  readonly serverVersion: string;
  /** True where commands go to one known server, or to a primary: what runs can be stopped from beside it. */
  readonly isStoppable: boolean;
  /** Called each time the connections to a server were given up. */
  onLost(listener: () => void): void;
  offLost(listener: () => void): void;
  close(): void;
}

/** Rejects as `connect` of an engine does. */
export async function openClient(
  settings: ConnectSettings,
  deps: ConnectDeps,
  door: Door,
): Promise<SourceClient> {
  requireMechanism(settings);
  const seeds = await seedsOf(settings, deps);
  const addresses = toAddresses(seeds);
  const reach = createReach(settings, deps);
  let fault: unknown;
  const ticket = await door.admit({
    reach: (host, port, signal) => reach(addresses.hostOf(host), port, signal),
    onFault: (err) => {
      fault = err;
    },
  });
  let client: MongoClient | undefined;
  try {
    client = new MongoClient(addresses.uri, toOptions(settings, seeds, ticket));
    const opened = client;
    const serverVersion = await untilConnected(client, deps.signal);
    const { readPreference = 'primary' } = settings;
    return {
      client: opened,
      serverVersion,
      isStoppable: seeds.isDirect || readPreference === 'primary',
      onLost: (listener) => void opened.on('connectionPoolCleared', listener),
      offLost: (listener) => void opened.off('connectionPoolCleared', listener),
      close: () => closeClient(opened, ticket),
    };
  } catch (err) {
    ticket.leave();
    if (client !== undefined) closeClient(client, ticket);
    if (deps.signal.aborted) throw toConnectError(deps.signal.reason);
    throw fault === undefined ? toLogInError(err, settings) : toConnectError(fault);
  }
}

/** Ends its sessions at the servers, and behind them, or behind their time, its sockets. */
function closeClient(client: MongoClient, ticket: Ticket): void {
  const cut = setTimeout(ticket.leave, farewellMs);
  void client
    .close()
    .catch(() => {})
    .finally(() => {
      clearTimeout(cut);
      ticket.leave();
    });
}

/** What would dial outside of the door, or tell the password to whoever answers, is not there. */
function requireMechanism({ authMechanism, tls }: ConnectSettings): void {
  if (authMechanism === undefined) return;
  if (!authMechanisms.some((known) => known === authMechanism))
    throw logInError(new Error('unknown mechanism'));
  if (authMechanism !== 'PLAIN' || tls.mode === 'verify-full') return;
  throw new HubError('SOURCE_TLS', 'The log-in by PLAIN needs TLS of the mode verify-full.', {
    stage: 'connect',
    retryable: false,
  });
}

/**
 * Dials, and starts TLS. MongoDB cannot be asked whether it has TLS: the mode `prefer` tries, and goes on without, from
 * then on at once.
 */
function createReach(settings: ConnectSettings, deps: ConnectDeps) {
  const { tls } = settings;
  const plain = new Set<string>();
  return async (host: string, port: number, signal: AbortSignal) => {
    const at = `${host}:${port}`;
    const secure = async () => {
      const socket = await deps.dial(host, port, { signal, resolveAgain: true });
      const abort = () => void socket.destroy();
      signal.addEventListener('abort', abort, { once: true });
      return startTls(socket, { host, tls }).finally(() => signal.removeEventListener('abort', abort));
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
  /** Hosts alone: whatever else the driver is told stands in its options. */
  uri: string;
  /** The host that the driver means by a name. */
  hostOf(name: string): string;
}

/** What is no common host goes by a name that stands for it: the driver would read it as something else, or refuse it. */
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

function toOptions(settings: ConnectSettings, seeds: Seeds, ticket: Ticket): MongoClientOptions {
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
    proxyHost: ticket.host,
    proxyPort: ticket.port,
    proxyUsername: ticket.username,
    proxyPassword: ticket.password,
    // Behind the door.
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
    // One connection to each server, and no further one that measures it.
    serverMonitoringMode: 'poll',
  };
}

/** The version. Rejects as soon as no server is left to hope for; the driver would try them again and again. */
async function untilConnected(client: MongoClient, signal: AbortSignal): Promise<string> {
  const { promise: hopeless, reject } = Promise.withResolvers<never>();
  hopeless.catch(() => {});
  const abort = () => reject(signal.reason);
  const look = ({ newDescription }: { newDescription: TopologyDescription }) => {
    const servers = [...newDescription.servers.values()];
    const [first] = servers;
    if (servers.every(({ error }) => error !== null))
      reject(first?.error ?? new Error('no server of this set'));
  };
  client.on('topologyDescriptionChanged', look);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const open = async () => {
    await client.connect();
    const { version } = await client.db('admin').command({ buildInfo: 1 });
    return `MongoDB ${String(version).slice(0, 32)}`;
  };
  try {
    return await Promise.race([open(), hopeless]);
  } finally {
    client.off('topologyDescriptionChanged', look);
    signal.removeEventListener('abort', abort);
  }
}
