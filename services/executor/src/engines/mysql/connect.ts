/**
 * Opens sessions. The driver does the greeting and the log-in on the hub's socket. The hub does TLS and the later
 * protocol.
 */

import { onAbort } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import mysql, { type Connection as DriverConnection } from 'mysql2';
import { isUsablePublicKey } from '../../network/handshake/usable-keys.ts';
import { plainBytesError, startTls } from '../../network/tls.ts';
import type { ConnectDeps, ConnectSettings, SourceFacts } from '../../ports/engine.ts';
import type { ServerStream } from '../../ports/server-stream.ts';
import { KeptOfConnection } from '../shared/kept-statements.ts';
import { guardLogIn } from '../shared/login-guard.ts';
import { watchForPostgres, wrongEngineError } from '../shared/wrong-engine.ts';
import { Canceller, cancelTimeoutMs, type SideSession } from './cancel.ts';
import { MysqlConnection } from './connection.ts';
import { ed25519Plugin, signEd25519 } from './ed25519.ts';
import { setUpError, toConnectError, wholePasswordCode } from './errors.ts';

/** Members of the driver's connection that its types do not declare. */
interface Driver extends Negotiating {
  stream: ServerStream;
  packetParser: { execute(data: Buffer): void };
  startTLS(onSecure: (err?: Error) => void): void;
  _handshakePacket: { serverVersion: string };
  _isMariaDB: boolean;
  _mariadbExtendedMetadata: boolean;
  threadId: number;
  /** Answers what the server sends in the log-in. */
  _authPlugin?: (data: Buffer) => unknown;
}

/**
 * One for each server of a source, by the facts that its connections share and the address that they reached: at another
 * server of the same name, a KILL would stop what others run.
 */
export type Cancellers = WeakMap<SourceFacts, Map<string, Canceller>>;

/** More are not shared. */
const serversMax = 64;

interface MysqlDeps extends ConnectDeps {
  cancellers: Cancellers;
}

export async function connectMysql(settings: ConnectSettings, deps: MysqlDeps): Promise<MysqlConnection> {
  const { mode } = settings.tls;
  try {
    return await open(settings, deps, mode !== 'disable');
  } catch (err) {
    const hasNone = (err as { code?: string }).code === 'HANDSHAKE_NO_SSL_SUPPORT';
    if (mode !== 'prefer' || !hasNone) throw toConnectError(err);
    return open(settings, deps, false).catch((plain) => Promise.reject(toConnectError(plain)));
  }
}

async function open(settings: ConnectSettings, deps: MysqlDeps, tls: boolean): Promise<MysqlConnection> {
  const driver = await logIn(settings, deps, tls);
  using _listening = onAbort(deps.signal, () => driver.stream.destroy());
  const connection = new MysqlConnection({
    socket: driver.stream,
    rowBytesMax: deps.rowBytesMax,
    isAwake: deps.isAwake,
    takeLongRow: deps.takeLongRow,
    kept: new KeptOfConnection(deps.kept),
    comments: deps.comments ?? false,
    serverVersion: versionOf(driver),
    isMariadb: driver._isMariaDB,
    hasExtended: driver._mariadbExtendedMetadata,
    threadId: driver.threadId,
    canceller: cancellerOf(settings, deps, { tls, stream: driver.stream }),
  });
  try {
    await connection.initialize();
    return connection;
  } catch (err) {
    connection.close();
    throw setUpError(deps.signal.aborted ? undefined : err);
  }
}

async function logIn(settings: ConnectSettings, deps: ConnectDeps, tls: boolean): Promise<Driver> {
  const { host, port, signal } = { ...settings, ...deps };
  const socket = await deps.dial(host, port, { signal });
  using _listening = onAbort(signal, () => socket.destroy());
  try {
    return await new Promise<Driver>((resolve, reject) => {
      const fail = (err: unknown) => {
        socket.destroy();
        reject(err);
      };
      const connection = mysql.createConnection({
        stream: socket,
        host,
        port,
        user: settings.user,
        password: settings.password,
        database: settings.database,
        charset: 'utf8mb4',
        connectAttributes: { program_name: 'datahub' },
        connectTimeout: 0,
        // Servers ask for the token in clear text. `verify-full` never connects without TLS.
        enableCleartextPlugin: settings.passwordFrom !== undefined && settings.tls.mode === 'verify-full',
        authPlugins: {
          ...(sendsWhole(settings) ? {} : wholePasswordPlugins),
          [ed25519Plugin]: () => (nonce) => signEd25519(settings.password, nonce),
        },
        ...(tls ? { ssl: { rejectUnauthorized: settings.tls.mode === 'verify-full' } } : {}),
      });
      const driver = connection as unknown as Driver;
      const isLimited = limitCapabilities(driver);
      boundKeys(driver);
      const plain = takeOver(driver, socket, fail);
      driver.startTLS = (onSecure) => {
        if (plain.holdsMore()) fail(plainBytesError());
        else secure(driver, settings, fail).then(() => onSecure(), fail);
      };
      watchForPostgres(socket, { host, port, deps }, () =>
        fail(wrongEngineError('PostgreSQL', 'MySQL or MariaDB')),
      );
      socket.once('close', () => reject(toConnectError(undefined)));
      // The driver can emit several errors.
      (connection as DriverConnection).on('error', reject);
      // A packet is out of order. The driver would print that and go on. `guardLogIn` catches the error.
      (connection as DriverConnection).on('warn', (err) => {
        throw err;
      });
      (connection as DriverConnection).once('connect', () => {
        if (isLimited()) resolve(driver);
        else fail(new RangeError('The driver negotiated capabilities that the hub does not support.'));
      });
    });
  } catch (err) {
    socket.destroy();
    if (signal.aborted)
      throw new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', { cause: err });
    throw err;
  }
}

/**
 * The password reaches a server of MySQL as a whole, if the server asks with one of its plugins: encrypted with a key
 * that the server sends, or over TLS. MariaDB's own plugins need no such password.
 */
const sendsWhole = ({ engine, tls }: ConnectSettings) => engine === 'mysql' || tls.mode === 'verify-full';

const refuseWhole = () => {
  throw Object.assign(new Error('The server asks for the whole password.'), { code: wholePasswordCode });
};
const wholePasswordPlugins = { caching_sha2_password: refuseWhole, sha256_password: refuseWhole };

/** The driver encrypts the password with whatever key the server sends, and reading some of them takes hours. */
function boundKeys(driver: Driver): void {
  let plugin: Driver['_authPlugin'];
  Object.defineProperty(driver, '_authPlugin', {
    get: () => plugin,
    set: (next: (data: Buffer) => unknown) => {
      plugin = (data) => {
        if (data.includes('-----BEGIN') && !isUsablePublicKey(data.toString('latin1')))
          throw new RangeError('The server sent a key for the password that the hub does not use.');
        return next(data);
      };
    },
  });
}

/**
 * Passes the socket's data to the driver's parser and counts it. TLS begins right after the greeting, which is one
 * packet. Plain bytes after the greeting could be injected and would be trusted, so the log-in fails.
 */
function takeOver(
  driver: Driver,
  socket: ServerStream,
  onFault: (err: unknown) => void,
): { holdsMore(): boolean } {
  let head = Buffer.alloc(0);
  let bytes = 0;
  const read = guardLogIn((chunk) => driver.packetParser.execute(chunk), onFault);
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    if (head.length < 4) head = Buffer.concat([head, chunk.subarray(0, 4)]);
    bytes += chunk.length;
    read(chunk);
  });
  return { holdsMore: () => bytes > 4 + head.readUIntLE(0, 3) };
}

/** Replaces the driver's TLS. Checks the certificate against the configured host, even if that is an IP address. */
async function secure(
  driver: Driver,
  settings: ConnectSettings,
  onFault: (err: unknown) => void,
): Promise<void> {
  const socket = driver.stream;
  socket.removeAllListeners('data');
  const ends = (['close', 'error'] as const).map((event) => [event, socket.listeners(event)] as const);
  const stream = await startTls(socket, settings);
  // The socket can end before TLS has passed on what arrived on it, such as the refusal of the log-in.
  for (const [event, listeners] of ends)
    for (const listener of listeners as (() => void)[]) {
      socket.removeListener(event, listener);
      stream.on(event, listener);
    }
  stream.on('error', onFault);
  stream.on(
    'data',
    guardLogIn((chunk) => driver.packetParser.execute(chunk), onFault),
  );
  driver.stream = stream;
}

function versionOf({ _handshakePacket: { serverVersion }, _isMariaDB }: Driver): string {
  const [version = ''] = serverVersion.replace(/^5\.5\.5-/, '').split('-');
  return `${_isMariaDB ? 'MariaDB' : 'MySQL'} ${version.slice(0, 32)}`;
}

function cancellerOf(
  settings: ConnectSettings,
  deps: MysqlDeps,
  { tls, stream: { remoteAddress, remotePort } }: { tls: boolean; stream: ServerStream },
): Canceller {
  const { cancellers, facts } = deps;
  const known = (facts && cancellers.get(facts)) ?? new Map<string, Canceller>();
  if (facts !== undefined) cancellers.set(facts, known);
  const address = `${remoteAddress} ${remotePort}`;
  const shared = known.get(address);
  if (shared !== undefined) return shared;
  const canceller = new Canceller((signal) => openSide(settings, { ...deps, signal }, tls));
  if (known.size < serversMax) known.set(address, canceller);
  return canceller;
}

/** Opens the second session. The driver sends a command only after the response to the previous one. */
async function openSide(settings: ConnectSettings, deps: ConnectDeps, tls: boolean): Promise<SideSession> {
  const password = (await deps.currentPassword?.()) ?? settings.password;
  const driver = await logIn({ ...settings, password }, deps, tls);
  const connection = driver as unknown as DriverConnection;
  return {
    kill: (what, threadId) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => driver.stream.destroy(), cancelTimeoutMs);
        connection.query(`KILL ${what} ${threadId}`, (err) => {
          clearTimeout(timer);
          // The server reports an error if the statement has just ended. That is expected.
          if (err?.fatal) reject(toConnectError(err));
          else resolve();
        });
      }),
    close: () => {
      connection.end(() => {});
      // A server that hangs would never close it.
      driver.stream.end(() => driver.stream.destroy());
    },
  };
}

/**
 * The capabilities that the hub negotiates. Capabilities change the format of packets, so the driver must not add
 * others.
 */
const bits = {
  longPassword: 0x1,
  /** With this, the affected rows include rows that an UPDATE found but did not change. */
  foundRows: 0x2,
  longFlag: 0x4,
  connectWithDb: 0x8,
  protocol41: 0x200,
  ssl: 0x800,
  transactions: 0x2000,
  secureConnection: 0x8000,
  multiResults: 0x20000,
  /** With this, the values of a procedure's OUT parameters are a result. */
  outParameters: 0x40000,
  pluginAuth: 0x80000,
  connectAttributes: 0x100000,
  longAuthData: 0x200000,
  sessionTrack: 0x800000,
};

const requested =
  bits.longPassword |
  bits.foundRows |
  bits.longFlag |
  bits.connectWithDb |
  bits.protocol41 |
  bits.transactions |
  bits.secureConnection |
  bits.multiResults |
  bits.outParameters |
  bits.pluginAuth |
  bits.connectAttributes |
  bits.longAuthData |
  bits.sessionTrack;

const allowed = requested | bits.ssl;

/** Members of the driver's connection that its types do not declare. */
interface Negotiating {
  config: { clientFlags: number };
  /** The handshake, until the log-in has finished. */
  _command: { clientFlags: number };
  writePacket(packet: { buffer: Buffer }): void;
}

/**
 * Limits the driver's capabilities before its handshake has sent anything. The handshake adds capabilities that the
 * server offers, such as multi-factor authentication; this drops those outside of the list. The returned check reads
 * the bytes that were sent, so that a future driver that chooses in another way fails after the log-in.
 */
function limitCapabilities(driver: Negotiating): () => boolean {
  let flags = requested;
  Object.defineProperty(driver._command, 'clientFlags', {
    get: () => flags,
    set: (wanted: number) => {
      flags = wanted & allowed;
    },
  });
  // The format of the driver's own commands, such as KILL, depends on these flags.
  driver.config.clientFlags = requested;

  let sent = 0;
  const { writePacket } = driver;
  driver.writePacket = (packet) => {
    // The request for TLS and the log-in both begin with the capabilities, after the packet's header.
    sent = packet.buffer.readUInt32LE(4);
    driver.writePacket = writePacket;
    writePacket.call(driver, packet);
  };
  return () => sent !== 0 && (sent & ~allowed) === 0;
}
