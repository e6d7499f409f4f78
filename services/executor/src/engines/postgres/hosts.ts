/** Which of a source's servers takes a connection, by the rules of libpq's `target_session_attrs`. */

import type { TargetSessionAttrs } from '@datahub/contract/source-settings';
import { HubError } from '@datahub/service-kit/call/error';
import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import type { PostgresConnection } from './connection.ts';
import { toConnectError } from './errors.ts';
import type { ServerState } from './session.ts';

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

/**
 * Tries the servers in their order, the one that took the last connection first. A refused log-in ends the search,
 * because the servers share their users. With `prefer-standby` any server is taken when none is a standby.
 */
export async function connectToOne(
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
    const timeoutMs = firstTimeoutMs / 2 ** i;
    const isLast = i === servers.length - 1;
    const signal = isLast ? deps.signal : AbortSignal.any([deps.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const connection = await connect({ ...settings, host, port }, { ...deps, signal });
      if (attrs === 'any' || accepts[attrs](await connection.readState())) {
        fallback?.close();
        if (attrs !== 'prefer-standby') facts.server = { host, port };
        return connection;
      }
      if (attrs === 'prefer-standby' && fallback === undefined) fallback = connection;
      else connection.close();
      failure ??= noMatch(attrs);
    } catch (err) {
      failure = err;
      if (deps.signal.aborted || (err instanceof HubError && err.code === 'SOURCE_AUTH')) break;
    }
  }
  if (fallback !== undefined) return fallback;
  throw toConnectError(failure);
}

function inOrder(servers: Server[], first: Server | undefined): Server[] {
  const isFirst = ({ host, port }: Server) => host === first?.host && port === first.port;
  return [...servers.filter(isFirst), ...servers.filter((server) => !isFirst(server))];
}

function noMatch(attrs: TargetSessionAttrs): HubError {
  const text = `None of the source's servers that can be reached is what targetSessionAttrs asks for: ${attrs}.`;
  return new HubError('SOURCE_UNREACHABLE', text, { stage: 'connect', retryable: true });
}
