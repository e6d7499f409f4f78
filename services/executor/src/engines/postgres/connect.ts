/** Opens sessions: the driver does start-up, TLS and log-in on a socket of ours, then the socket is ours again. */

import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { HubError } from '@datahub/service-kit/error';
import pg from 'pg';
import type { ConnectDeps, ConnectSettings } from '../../engine.ts';
import { PostgresConnection, type Session } from './connection.ts';
import { toConnectError } from './errors.ts';
import { cancelRequest } from './protocol.ts';
import { sessionSettings } from './session.ts';

interface TlsOptions {
  rejectUnauthorized: boolean;
  ca?: string;
  cert?: string;
  key?: string;
}

/** What the driver keeps of a session that its types do not tell. */
interface DriverClient {
  connection: { stream: Socket };
  processID: number;
  secretKey: number;
  _handleAuthCleartextPassword: () => void;
}

export async function connectPostgres(
  settings: ConnectSettings,
  deps: ConnectDeps,
): Promise<PostgresConnection> {
  const { mode } = settings.tls;
  try {
    if (mode === 'disable') return await open(settings, deps, false);
    return await open(settings, deps, tlsOptions(settings));
  } catch (err) {
    const failure = toConnectError(err);
    const refusesTls = /does not support SSL/.test(String((err as Error).message));
    if (mode === 'prefer' && refusesTls)
      return open(settings, deps, false).catch((plain) => Promise.reject(toConnectError(plain)));
    throw failure;
  }
}

function tlsOptions({ tls }: ConnectSettings): TlsOptions {
  return {
    rejectUnauthorized: tls.mode === 'verify-full',
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  };
}

/** Given at the start, so that RESET ALL comes back to them. */
const startupOptions = Object.entries(sessionSettings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

async function open(
  settings: ConnectSettings,
  deps: ConnectDeps,
  ssl: TlsOptions | false,
): Promise<PostgresConnection> {
  const { host, port } = settings;
  const socket = await deps.dial(host, port, deps.signal);
  const client = new pg.Client({
    host,
    port,
    database: settings.database,
    user: settings.user,
    // Of the process's environment nothing may reach the user's database: the driver takes what is empty from there.
    password: () => settings.password,
    ssl,
    stream: () => asUnconnected(socket),
    options: startupOptions,
    application_name: 'datahub',
  });
  const driver = client as unknown as DriverClient;
  const abort = () => socket.destroy();
  client.on('error', () => {});
  deps.signal.addEventListener('abort', abort, { once: true });
  try {
    await logIn(client, driver, ssl !== false && ssl.rejectUnauthorized);
    const connection = new PostgresConnection({
      socket: driver.connection.stream,
      ...(await serverOf(client)),
      cancel: (signal) => cancel(settings, deps, { ssl, driver, signal }),
    });
    await connection.initialize();
    return connection;
  } catch (err) {
    socket.destroy();
    throw deps.signal.aborted
      ? new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', { cause: err })
      : err;
  } finally {
    deps.signal.removeEventListener('abort', abort);
  }
}

/** The driver calls `connect` on a fresh socket; ours is connected already. */
function asUnconnected(socket: Socket): Socket {
  return Object.assign(socket, {
    connect: () => {
      process.nextTick(() => socket.emit('connect'));
      return socket;
    },
  });
}

/** A password in clear text goes only to a server whose certificate was checked. */
function logIn(client: pg.Client, driver: DriverClient, verified: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (!verified) {
      driver._handleAuthCleartextPassword = () => {
        driver.connection.stream.destroy();
        reject(
          new HubError(
            'SOURCE_AUTH',
            'The source asks for the password in clear text, which needs TLS in the mode verify-full.',
          ),
        );
      };
    }
    client.connect().then(resolve, reject);
  });
}

async function serverOf(client: pg.Client): Promise<Pick<Session, 'serverVersion' | 'checksTexts'>> {
  const text = "SELECT current_setting('server_version'), current_setting('server_encoding')";
  const { rows } = await client.query({ text, rowMode: 'array' });
  const [version, encoding] = rows[0] as [string, string];
  return { serverVersion: `PostgreSQL ${version.split(' ')[0]}`, checksTexts: encoding !== 'SQL_ASCII' };
}

async function cancel(
  settings: ConnectSettings,
  deps: ConnectDeps,
  { ssl, driver, signal }: { ssl: TlsOptions | false; driver: DriverClient; signal: AbortSignal },
): Promise<void> {
  const plain = await deps.dial(settings.host, settings.port, signal);
  const socket = ssl === false ? plain : await upgrade(plain, settings.host, ssl);
  const request = cancelRequest(driver.processID, driver.secretKey);
  await new Promise<void>((resolve) => {
    // The server closes when it has passed the request on.
    socket.once('close', () => resolve());
    socket.once('error', () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
    socket.end(request);
    socket.resume();
  });
  socket.destroy();
}

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

function upgrade(socket: Socket, host: string, options: TlsOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (answer) => {
      if (answer[0] !== 0x53) return reject(new Error('The server does not support SSL connections'));
      const secure = connectTls(
        { socket, host, ...(isIP(host) ? {} : { servername: host }), ...options },
        () => resolve(secure),
      );
      secure.once('error', reject);
    });
    socket.write(sslRequest);
  });
}
