/** Opens sessions: selects a server, starts TLS, logs in and sets up the session. */

import type { TargetSessionAttrs } from '@datahub/contract/source-settings';
import { onAbort } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import { endPointOf } from '../../network/tls.ts';
import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { PostgresConnection } from './connection.ts';
import { OptionsRefused, setUpError, toConnectError } from './errors.ts';
import { type LogIn, logIn, type Started } from './login.ts';
import { query, readRow } from './protocol.ts';
import { cancelStatement, openServerSocket, type Target } from './server-socket.ts';
import { type ServerState, sessionSettings } from './session.ts';
import { openPooledBlocks } from './transaction-pooling.ts';
import { Wire } from './wire.ts';

export const connectPostgres = (settings: ConnectSettings, deps: ConnectDeps): Promise<PostgresConnection> =>
  connectToOne(settings, deps, connectServer);

/**
 * Poolers such as PgBouncer refuse `options` in the start-up message. Then the hub logs in again without them and sets
 * up the session afterwards. Later connections to the source do without them from the start.
 */
async function connectServer(settings: ConnectSettings, deps: ConnectDeps): Promise<PostgresConnection> {
  if (settings.pooling === 'transaction') return connectWith(settings, deps, {});
  const facts = deps.facts ?? {};
  if (facts.refusesOptions) return connectWith(settings, deps, {});
  try {
    return await connectWith(settings, deps, { options: startupOptions });
  } catch (err) {
    if (!(err instanceof OptionsRefused)) throw err;
    facts.refusesOptions = true;
    return connectWith(settings, deps, {});
  }
}

type StartUp = Pick<LogIn, 'options'>;

/** Settings in the start-up message become the session's defaults, so RESET ALL restores them. */
const startupOptions = Object.entries(sessionSettings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

async function connectWith(
  settings: ConnectSettings,
  deps: ConnectDeps,
  startUp: StartUp,
): Promise<PostgresConnection> {
  const opened = await openWire(settings, deps, startUp);
  try {
    using _listening = onAbort(deps.signal, () => opened.wire.close());
    return await setUp(opened, settings, deps);
  } catch (err) {
    opened.wire.close();
    throw setUpError(deps.signal.aborted ? undefined : err);
  }
}

interface Opened {
  wire: Wire;
  started: Started;
  secure: boolean;
}

/** Opens a session that is logged in but not set up. */
async function openWire(settings: ConnectSettings, deps: ConnectDeps, startUp: StartUp): Promise<Opened> {
  const plainAllowed = settings.tls.mode === 'prefer';
  const { socket, secure } = await openServerSocket(settings, deps, { signal: deps.signal, plainAllowed });
  try {
    const wire = new Wire(socket, deps.isAwake, deps.takeLongRow);
    const { user, password, database, tls } = settings;
    const verified = secure && tls.mode === 'verify-full';
    using _listening = onAbort(deps.signal, () => wire.close());
    const endPoint = endPointOf(socket);
    const started = await logIn(wire, { user, password, database, verified, endPoint, ...startUp });
    wire.widen(deps.rowBytesMax ?? defaultRowBytesMax);
    return { wire, started, secure };
  } catch (err) {
    socket.destroy();
    throw toConnectError(deps.signal.aborted ? undefined : err);
  }
}

async function setUp(
  { wire, started, secure }: Opened,
  settings: ConnectSettings,
  deps: ConnectDeps,
): Promise<PostgresConnection> {
  // A session with TLS also uses TLS for cancel requests.
  const target: Target = secure ? settings : { ...settings, tls: { mode: 'disable' } };
  const version = started.parameters.get('server_version') ?? '';
  const probe = (signal: AbortSignal) =>
    sharesSessions({ wire, started }, () => openWire(settings, { ...deps, signal }, {}), signal);
  const isPooled = settings.pooling === 'transaction';
  const shares = isPooled || (await findSharing(probe, deps));
  const connection = new PostgresConnection({
    wire,
    processId: started.processId,
    serverVersion: `PostgreSQL ${version.split(' ')[0]?.slice(0, 32)}`.trim(),
    comments: deps.comments ?? false,
    kept: deps.kept,
    checksTexts: started.parameters.get('server_encoding') !== 'SQL_ASCII',
    blocks: shares ? await openPooledBlocks(wire) : undefined,
    cancel: (signal, isRunning) => cancelStatement(target, deps, { started, signal, isRunning }),
    suggestPooling: async (signal) =>
      !isPooled && (shares || (await probe(signal))) ? 'transaction' : undefined,
  });
  await connection.initialize();
  return connection;
}

const probeTimeoutMs = 1_000;

/**
 * Detects a pooler that can run each transaction in another session. In such sessions, the hub's settings would affect
 * other applications, and theirs would change the hub's results. So this runs before anything is set, unless the server
 * accepted the start-up options. If the pooler has no room for a second client, the source's setting decides, and the next
 * connection tries again.
 */
async function findSharing(
  probe: (signal: AbortSignal) => Promise<boolean>,
  { facts = {}, signal }: ConnectDeps,
): Promise<boolean> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMs)]);
  if (facts.refusesOptions !== true) return false;
  facts.sharesSessions ??= await probe(bound).catch(() => undefined);
  return facts.sharesSessions ?? false;
}

const roundsMax = 3;

/**
 * True if a pooler can run each transaction in another session: two clients got the same session, or one client got
 * two. A server without a pooler reports its own process id at the log-in, so no second client is needed.
 */
async function sharesSessions(
  { wire, started }: Pick<Opened, 'wire' | 'started'>,
  openOther: () => Promise<Opened>,
  signal: AbortSignal,
): Promise<boolean> {
  const first = await processIdOf(wire);
  if (first === started.processId) return false;
  const other = await openOther();
  // A pooler without room lets the second client wait.
  using _listening = onAbort(signal, () => other.wire.close());
  try {
    for (let round = 0; round < roundsMax; round++) {
      if ((await processIdOf(other.wire)) === first || (await processIdOf(wire)) !== first) return true;
    }
    return false;
  } finally {
    other.wire.close();
  }
}

const dataRow = 'D'.charCodeAt(0);

async function processIdOf(wire: Wire): Promise<number> {
  let id = 0;
  const { error } = await wire.exchange(
    query('SELECT pg_catalog.pg_backend_pid()'),
    (type, source, start, end) => {
      if (type === dataRow) id = Number(readRow(source.subarray(start, end))[0]);
    },
  );
  if (error !== undefined) throw new Error('The server did not report its process id.');
  return id;
}

type Server = Pick<ConnectSettings, 'host' | 'port'>;

const accepts: Record<TargetSessionAttrs, (state: ServerState) => boolean> = {
  any: () => true,
  'read-write': ({ isStandby, isReadOnly }) => !isStandby && !isReadOnly,
  'read-only': ({ isStandby, isReadOnly }) => isStandby || isReadOnly,
  primary: ({ isStandby }) => !isStandby,
  standby: ({ isStandby }) => isStandby,
  'prefer-standby': ({ isStandby }) => isStandby,
};

/** Half of the time is for the first server, half of the rest for the second, so that a silent one leaves time for others. */
const firstTimeoutMs = 2_000;
/** Enough for a log-in. */
const leastTimeoutMs = 500;

/**
 * Tries the servers in their order, the one that took the last connection first. A refused log-in ends the search,
 * because the servers share their users. With `prefer-standby` any server is taken when none is a standby.
 */
async function connectToOne(
  settings: ConnectSettings,
  deps: ConnectDeps,
  connect: (settings: ConnectSettings, deps: ConnectDeps) => Promise<PostgresConnection>,
): Promise<PostgresConnection> {
  const { hosts = [], targetSessionAttrs: attrs = 'any' } = settings;
  if (hosts.length === 0 && attrs === 'any') return connect(settings, deps);
  const facts = deps.facts ?? {};
  const servers: Server[] = inOrder([settings, ...hosts], facts.server);
  let fallback: PostgresConnection | undefined;
  let failure: unknown;
  for (const [i, { host, port }] of servers.entries()) {
    const timeoutMs = Math.max(firstTimeoutMs / 2 ** i, leastTimeoutMs);
    const isLast = i === servers.length - 1;
    const signal = isLast ? deps.signal : AbortSignal.any([deps.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const connection = await connect({ ...settings, host, port }, { ...deps, signal });
      deps.accepted?.();
      if (attrs === 'any' || (await isAccepted(connection, attrs, signal))) {
        fallback?.close();
        if (attrs !== 'prefer-standby') facts.server = { host, port };
        return connection;
      }
      if (attrs === 'prefer-standby' && fallback === undefined) fallback = connection;
      else connection.close();
      failure ??= noMatch(attrs);
    } catch (err) {
      failure = err;
      // The hub itself refuses log-ins for a while at one server, and not at the others.
      const isRefused = err instanceof HubError && err.code === 'SOURCE_AUTH' && err.retryable !== true;
      if (deps.signal.aborted || isRefused) break;
    }
  }
  if (fallback !== undefined) return fallback;
  throw toConnectError(failure);
}

/** Closes a connection whose server does not say it in time. */
async function isAccepted(
  connection: PostgresConnection,
  attrs: TargetSessionAttrs,
  signal: AbortSignal,
): Promise<boolean> {
  using _listening = onAbort(signal, () => connection.close());
  try {
    return accepts[attrs](await connection.readState());
  } catch (err) {
    connection.close();
    throw setUpError(err);
  }
}

function inOrder(servers: Server[], first: Server | undefined): Server[] {
  const isFirst = ({ host, port }: Server) => host === first?.host && port === first.port;
  return [...servers.filter(isFirst), ...servers.filter((server) => !isFirst(server))];
}

function noMatch(attrs: TargetSessionAttrs): HubError {
  const text = `No reachable server of the source matches targetSessionAttrs: ${attrs}.`;
  return new HubError('SOURCE_UNREACHABLE', text, { stage: 'connect', retryable: true });
}
