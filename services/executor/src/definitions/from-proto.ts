/** The catalog's messages as definitions; what they lack is a fault of the hub. */

import { isEngine } from '@datahub/contract/engines';
import type { ResolvedSource, ResolveQueryResponse } from '@datahub/proto/catalog/v1/catalog_internal';
import { HubError } from '@datahub/service-kit/call/error';
import type { ServerSettings, TlsSettings } from '../engine.ts';
import type { QueryDefinition, SourceDefinition } from './definition-cache.ts';

const tlsModes: readonly string[] = [
  'disable',
  'prefer',
  'require',
  'verify-full',
] satisfies TlsSettings['mode'][];

export function toQueryDefinition({ query, source }: ResolveQueryResponse): QueryDefinition {
  if (query === undefined) throw incomplete('query');
  const { queryId, accountId, hubId, command, context, version } = query;
  return {
    queryId,
    accountId,
    hubId,
    command,
    text: query.query,
    variables: context,
    version,
    source: toSourceDefinition(source),
  };
}

export function toSourceDefinition(source: ResolvedSource | undefined): SourceDefinition {
  if (source?.sealed === undefined) throw incomplete('source');
  const { engine, tls } = source;
  const mode = tls?.mode || 'prefer';
  if (!isEngine(engine) || !tlsModes.includes(mode)) throw incomplete('engine or TLS mode');
  return {
    sourceId: source.sourceId,
    accountId: source.accountId,
    hubId: source.hubId,
    engine,
    host: source.host,
    port: source.port,
    database: source.database,
    tls: {
      mode: mode as TlsSettings['mode'],
      ...(tls?.ca ? { ca: tls.ca } : {}),
      ...(tls?.cert ? { cert: tls.cert } : {}),
    },
    sealed: source.sealed,
    pool: source.pool ?? {},
    statementTimeoutMs: source.statementTimeoutMs,
    ...(source.authSource === undefined ? {} : { authSource: source.authSource }),
    servers: toServers(source),
    settingsVersion: source.settingsVersion,
    version: source.version,
  };
}

/** The catalog checked them when they were saved. */
function toServers(source: ResolvedSource): ServerSettings {
  const { hosts, srv, replicaSet, readPreference, authMechanism } = source;
  return {
    ...(hosts === undefined ? {} : { hosts: hosts.hosts }),
    ...(srv ? { srv } : {}),
    ...(replicaSet === undefined ? {} : { replicaSet }),
    ...(readPreference === undefined ? {} : { readPreference: readPreference as Known<'readPreference'> }),
    ...(authMechanism === undefined ? {} : { authMechanism: authMechanism as Known<'authMechanism'> }),
  };
}

type Known<N extends keyof ServerSettings> = NonNullable<ServerSettings[N]>;

function incomplete(what: string): HubError {
  return new HubError(
    'INTERNAL',
    'The hub failed to answer this request. The request id names it in the log.',
    {
      cause: new Error(`The catalog's answer has no usable ${what}.`),
    },
  );
}
