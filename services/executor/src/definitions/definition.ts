/** The executor's definitions of stored queries and sources, and their conversion from the catalog's messages. */

import type { Complete } from '@datahub/contract/complete';
import { type EngineName, isEngine } from '@datahub/contract/engines';
import { countValues } from '@datahub/contract/json-text';
import { queryLimits } from '@datahub/contract/limits';
import { defaultSshPort, type SshAddress, tlsModes } from '@datahub/contract/source-settings';
import type { CachePolicy, Ssh, Variable } from '@datahub/proto/catalog/v1/catalog';
import type {
  CatalogInternalServiceService,
  ResolvedQuery,
  ResolvedSource,
  ResolveQueryResponse,
  SealedCredentials,
} from '@datahub/proto/catalog/v1/catalog_internal';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { PooledSource } from '../pool/pool-types.ts';
import type { ServerSettings, TlsSettings } from '../ports/engine.ts';

/** The calls that the executor makes to the catalog, in the same process or over gRPC. */
export type Catalog = Omit<Calls<typeof CatalogInternalServiceService>, 'watch' | 'leaseSlots'>;

export interface SourceDefinition extends PooledSource {
  hubId: string;
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  tls: Omit<TlsSettings, 'key'>;
  sealed: SealedCredentials;
  /** The bastion that the source is reached through. */
  ssh?: SshAddress | undefined;
  statementTimeoutMs: number | undefined;
  authSource?: string;
  servers?: ServerSettings;
  /** See `session-settings.ts` of the contract. */
  sessionJson?: string | undefined;
}

export interface CacheRules {
  maxAgeS: number;
  staleS: number;
  /** Older answers are not sent. */
  ageMsMax: number;
  validate: string | undefined;
}

export interface QueryDefinition extends Omit<ResolvedQuery, 'query' | 'context' | 'cache'> {
  text: string;
  variables: Variable[];
  versionNumber: number;
  /** About what it takes in memory without its source. */
  characters: number;
  /** Undefined if answers are not cached. */
  cache?: CacheRules | undefined;
  source: SourceDefinition;
}

export function toQueryDefinition({ query, source: resolved }: ResolveQueryResponse): QueryDefinition {
  if (query === undefined) throw incomplete('query');
  const source = toSourceDefinition(resolved);
  const { query: text, context: variables, cache, ...rest } = query;
  return {
    ...rest,
    text,
    variables,
    // A catalog of an older release sends no number.
    versionNumber: query.versionNumber ?? query.version,
    characters: charactersOfQuery(query, source.engine),
    cache: cache && toCacheRules(cache),
    source,
  };
}

/** What each place of a variable in a statement counts in addition to its characters: compiled, it takes two objects. */
const charactersOfPlace = 192;
/** What each value in JSON counts: parsed, an empty object takes so many bytes. */
const charactersOfValue = 64;

/** Of a query without its source: about its bytes in memory, compiled. A command of MongoDB is JSON. */
export function charactersOfQuery(query: ResolvedQuery, engine: EngineName): number {
  const { query: text, context: variables, transactionJson = '', cache } = query;
  const places = placesIn(text) + placesIn(transactionJson) + placesIn(cache?.validate ?? '');
  const parsed = variables.flatMap(({ valueJson = '', enumJson = '' }) => [valueJson, enumJson]);
  if (engine === 'mongodb') parsed.push(text);
  const values = parsed.reduce((count, json) => (json === '' ? count : count + countValues(json)), 0);
  return charactersOf(query) + charactersOfPlace * places + charactersOfValue * values;
}

/** Of all texts in it. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((characters: number, member) => characters + charactersOf(member), 0);
}

/** At least as many as there are: each `:name` and `{{name}}`, wherever it stands. */
function placesIn(text: string): number {
  let places = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) places++;
  for (let at = text.indexOf('{{'); at !== -1; at = text.indexOf('{{', at + 2)) places++;
  return places;
}

/** Returns undefined if no answer could be used twice. */
function toCacheRules({ maxAgeS, staleS = 0, validate }: CachePolicy): CacheRules | undefined {
  const ageSMax = Math.min(maxAgeS + staleS, queryLimits.cacheSeconds.max);
  if (ageSMax === 0 && validate === undefined) return undefined;
  return { maxAgeS, staleS: ageSMax - maxAgeS, ageMsMax: 1_000 * ageSMax, validate };
}

export function toSourceDefinition(source: ResolvedSource | undefined): Complete<SourceDefinition> {
  if (source?.sealed === undefined) throw incomplete('source');
  const { engine, tls } = source;
  const mode = tls?.mode || 'prefer';
  if (!isEngine(engine) || !tlsModes.some((known) => known === mode)) throw incomplete('engine or TLS mode');
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
      ca: tls?.ca || undefined,
      cert: tls?.cert || undefined,
    },
    sealed: source.sealed,
    pool: source.pool ?? {},
    statementTimeoutMs: source.statementTimeoutMs,
    authSource: source.authSource,
    servers: toServers(source),
    ssh: source.ssh && toSsh(source.ssh),
    sessionJson: source.sessionJson,
    settingsVersion: source.settingsVersion,
    version: source.version,
  };
}

const toSsh = ({ host = '', port = defaultSshPort, user = '', hostKey = '' }: Ssh): SshAddress => ({
  host,
  port,
  user,
  hostKey,
});

/** The catalog validated these values when they were saved, so the cast holds. */
function toServers(source: ResolvedSource): ServerSettings {
  const { hosts, srv, replicaSet, readPreference, authMechanism } = source;
  const { pooling, targetSessionAttrs, statementComments, passwordFrom } = source;
  const servers: Record<keyof ServerSettings, unknown> = {
    hosts: hosts?.hosts,
    srv: srv || undefined,
    replicaSet,
    readPreference,
    authMechanism,
    pooling,
    targetSessionAttrs,
    statementComments,
    passwordFrom,
  };
  return servers as ServerSettings;
}

/** A fault of the hub itself, so the answer does not describe it. */
function incomplete(what: string): HubError {
  return new HubError(
    'INTERNAL',
    'The hub failed to answer this request. The request id names it in the log.',
    { cause: new Error(`The catalog sent no valid ${what}.`) },
  );
}
