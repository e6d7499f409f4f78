/** Opens sessions: TLS, then the log-in; and the side connections that cancel. */

import type { Socket } from 'node:net';
import type { ConnectDeps, ConnectSettings } from '../../engine.ts';
import { noTlsError, plainBytesError, startTls, tlsError } from '../../network/tls.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { isMysqlGreeting, wrongEngineError } from '../shared/wrong-engine.ts';
import { PostgresConnection } from './connection.ts';
import { OptionsRefused, toConnectError } from './errors.ts';
import { logIn, type Started } from './login.ts';
import { cancelRequest, sslRequest } from './protocol.ts';
import { sessionSettings } from './session.ts';
import { Wire } from './wire.ts';

type Target = Pick<ConnectSettings, 'host' | 'port' | 'tls'>;

/**
 * Poolers such as PgBouncer refuse a start-up with `options`. Then the log-in is tried again without, and the session
 * is set up after it; the following connections to the source begin without.
 */
export async function connectPostgres(
  settings: ConnectSettings,
  deps: ConnectDeps,
): Promise<PostgresConnection> {
  const learned = deps.learned ?? {};
  if (learned.refusesOptions) return connectWith(settings, deps, {});
  try {
    return await connectWith(settings, deps, { options: startupOptions });
  } catch (err) {
    if (!(err instanceof OptionsRefused)) throw err;
    learned.refusesOptions = true;
    return connectWith(settings, deps, {});
  }
}

interface StartUp {
  /** Settings of the session. */
  options?: string;
}

async function connectWith(
  settings: ConnectSettings,
  deps: ConnectDeps,
  startUp: StartUp,
): Promise<PostgresConnection> {
  const plainAllowed = settings.tls.mode === 'prefer';
  const { socket, secure } = await reach(settings, deps, { signal: deps.signal, plainAllowed });
  try {
    return await open(settings, deps, { socket, secure, ...startUp });
  } catch (err) {
    socket.destroy();
    throw toConnectError(deps.signal.aborted ? undefined : err);
  }
}

interface Reached {
  socket: Socket;
  secure: boolean;
}

/** A socket to the server, with TLS unless the mode is `disable`, or the server says that it has none and that is allowed. */
async function reach(
  { host, port, tls }: Target,
  deps: ConnectDeps,
  { signal, plainAllowed }: { signal: AbortSignal; plainAllowed: boolean },
): Promise<Reached> {
  const socket = await deps.dial(host, port, { signal });
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (tls.mode === 'disable') return { socket, secure: false };
    if (await offersTls(socket)) return { socket: await startTls(socket, { host, tls }), secure: true };
    if (plainAllowed) return { socket, secure: false };
    throw noTlsError();
  } catch (err) {
    socket.destroy();
    throw signal.aborted ? toConnectError(undefined) : err;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

const yes = 'S';
const no = 'N';

/** Asks the server for TLS. */
function offersTls(socket: Socket): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const gone = (err?: Error) => reject(toConnectError(err));
    socket.once('error', gone).once('close', gone);
    socket.once('data', (bytes: Buffer) => {
      socket.off('error', gone).off('close', gone);
      const answer = String.fromCharCode(bytes[0] as number);
      if (isMysqlGreeting(bytes)) reject(wrongEngineError('MySQL or MariaDB', 'PostgreSQL'));
      else if (answer !== yes && answer !== no) reject(tlsError());
      else if (bytes.length > 1) reject(plainBytesError());
      else resolve(answer === yes);
    });
    socket.write(sslRequest);
  });
}

/** Given at the start, so that RESET ALL comes back to them. */
const startupOptions = Object.entries(sessionSettings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

async function open(
  settings: ConnectSettings,
  deps: ConnectDeps,
  { socket, secure, options }: Reached & StartUp,
): Promise<PostgresConnection> {
  const wire = new Wire(socket);
  const abort = () => wire.close();
  deps.signal.addEventListener('abort', abort, { once: true });
  try {
    const { user, password, database, tls } = settings;
    const verified = secure && tls.mode === 'verify-full';
    const started = await logIn(wire, { user, password, database, options, verified });
    wire.widen(deps.rowBytesMax ?? defaultRowBytesMax);
    // A session with TLS cancels with TLS.
    const target: Target = secure ? settings : { ...settings, tls: { mode: 'disable' } };
    const version = started.parameters.get('server_version') ?? '';
    const connection = new PostgresConnection({
      wire,
      serverVersion: `PostgreSQL ${version.split(' ')[0]?.slice(0, 32)}`.trim(),
      checksTexts: started.parameters.get('server_encoding') !== 'SQL_ASCII',
      cancel: (signal) => cancel(target, deps, { started, signal }),
    });
    await connection.initialize();
    return connection;
  } finally {
    deps.signal.removeEventListener('abort', abort);
  }
}

/** Longer than poolers let a request to cancel wait for a connection (PgBouncer: 10 s). */
const cancelLingerMs = 30_000;

/**
 * The server closes when it has passed the request on. A pooler may take our own close before that badly: PgBouncer
 * 1.18 ends, for all its users. So the socket stays open for longer than anybody waits for the answer.
 */
async function cancel(
  target: Target,
  deps: ConnectDeps,
  { started, signal }: { started: Started; signal: AbortSignal },
): Promise<void> {
  const { socket } = await reach(target, deps, { signal, plainAllowed: false });
  await new Promise<void>((resolve) => {
    const linger = setTimeout(() => socket.destroy(), cancelLingerMs).unref();
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(linger);
      resolve();
    });
    signal.addEventListener('abort', () => resolve(), { once: true });
    socket.write(cancelRequest(started.processId, started.secretKey));
    socket.resume();
  });
}
