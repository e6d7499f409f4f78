/** Opens sessions: the driver does greeting and log-in on a socket of ours, TLS is ours, then the socket is ours again. */

import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { HubError } from '@datahub/service-kit/error';
import mysql, { type Connection as DriverConnection } from 'mysql2';
import type { ConnectDeps, ConnectSettings } from '../../engine.ts';
import { MysqlConnection } from './connection.ts';
import { brokenError, toConnectError } from './errors.ts';

/** What the driver keeps of a session that its types do not tell. */
interface Driver {
  stream: Socket;
  packetParser: { execute(data: Buffer): void };
  startTLS(onSecure: (err?: Error) => void): void;
  _handshakePacket: { serverVersion: string };
  _isMariaDB: boolean;
  _mariadbExtendedMetadata: boolean;
  threadId: number;
}

export async function connectMysql(settings: ConnectSettings, deps: ConnectDeps): Promise<MysqlConnection> {
  const { mode } = settings.tls;
  try {
    return await open(settings, deps, mode !== 'disable');
  } catch (err) {
    const hasNone = (err as { code?: string }).code === 'HANDSHAKE_NO_SSL_SUPPORT';
    if (mode !== 'prefer' || !hasNone) throw toConnectError(err);
    return open(settings, deps, false).catch((plain) => Promise.reject(toConnectError(plain)));
  }
}

async function open(settings: ConnectSettings, deps: ConnectDeps, tls: boolean): Promise<MysqlConnection> {
  const driver = await logIn(settings, deps, tls);
  const connection = new MysqlConnection({
    socket: driver.stream,
    serverVersion: versionOf(driver),
    isMariadb: driver._isMariaDB,
    hasExtended: driver._mariadbExtendedMetadata,
    cancel: (signal) => kill(settings, { ...deps, signal }, { tls, threadId: driver.threadId }),
  });
  try {
    await connection.initialize();
    return connection;
  } catch (err) {
    connection.close();
    throw err;
  }
}

async function logIn(settings: ConnectSettings, deps: ConnectDeps, tls: boolean): Promise<Driver> {
  const { host, port, signal } = { ...settings, ...deps };
  const socket = await deps.dial(host, port, signal);
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await new Promise<Driver>((resolve, reject) => {
      const connection = mysql.createConnection({
        stream: socket,
        host,
        port,
        user: settings.user,
        password: settings.password,
        database: settings.database,
        charset: 'utf8mb4',
        // No files, one statement a command, rows found rather than changed.
        flags: ['-LOCAL_FILES', '-MULTI_STATEMENTS', 'FOUND_ROWS', '-COMPRESS'],
        connectTimeout: 0,
        ...(tls ? { ssl: { rejectUnauthorized: settings.tls.mode === 'verify-full' } } : {}),
      });
      const driver = connection as unknown as Driver;
      driver.startTLS = (onSecure) => startTls(driver, settings, onSecure);
      socket.once('close', () => reject(brokenError()));
      (connection as DriverConnection).once('error', reject);
      (connection as DriverConnection).once('connect', () => resolve(driver));
    });
  } catch (err) {
    socket.destroy();
    if (signal.aborted)
      throw new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', { cause: err });
    throw err;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** In place of the driver's: the certificate is checked against the name as configured, also where that is an address. */
function startTls(driver: Driver, { host, tls }: ConnectSettings, onSecure: (err?: Error) => void): void {
  const plain = driver.stream;
  plain.removeAllListeners('data');
  const secure = connectTls(
    {
      socket: plain,
      host,
      ...(isIP(host) ? {} : { servername: host }),
      rejectUnauthorized: tls.mode === 'verify-full',
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    },
    () => onSecure(),
  );
  secure.on('error', onSecure);
  secure.on('data', (data: Buffer) => driver.packetParser.execute(data));
  driver.stream = secure;
}

function versionOf({ _handshakePacket: { serverVersion }, _isMariaDB }: Driver): string {
  const [version = ''] = serverVersion.replace(/^5\.5\.5-/, '').split('-');
  return `${_isMariaDB ? 'MariaDB' : 'MySQL'} ${version}`;
}

async function kill(
  settings: ConnectSettings,
  deps: ConnectDeps,
  { tls, threadId }: { tls: boolean; threadId: number },
): Promise<void> {
  const driver = await logIn(settings, deps, tls);
  await new Promise<void>((resolve) => {
    const connection = driver as unknown as DriverConnection;
    // A statement that has just ended is no failure.
    connection.query(`KILL QUERY ${threadId}`, () => resolve());
  });
  driver.stream.destroy();
}
