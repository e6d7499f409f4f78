/** Sources: connections to the users' databases. */

import type { ConnectionSettings, Host, PoolSettings, Tls } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { readPage, setPageHeaders } from '../http/pagination.ts';
import { requireText } from '../http/query-params.ts';
import { type Handler, setVersion } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';
import { engine, id, label, object, readOnly } from './request-schemas.ts';
import { toCreatedSourceJson, toListedSourceJson, toSourceJson } from './to-json.ts';

const paging = { limitMax: 10_000 };

/** Null takes away what may be absent. */
const pem = { type: ['string', 'null'], maxLength: 65_536 } as const;
const orNull = <S extends { type: string }>(schema: S) =>
  ({ ...schema, type: [schema.type, 'null'] }) as const;
const host = { type: 'string', minLength: 1, maxLength: 253 } as const;
const port = { type: 'integer', minimum: 1, maximum: 65_535 } as const;
const readPreferences = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;
const authMechanisms = ['SCRAM-SHA-1', 'SCRAM-SHA-256', 'MONGODB-X509', 'PLAIN'] as const;
const settings = {
  host,
  port,
  database: { type: 'string', minLength: 1, maxLength: 255 },
  user: { type: 'string', maxLength: 128 },
  password: { type: 'string', maxLength: 1_024 },
  tls: orNull(
    object({
      mode: { type: 'string', enum: ['disable', 'prefer', 'require', 'verify-full'] },
      ca: pem,
      cert: pem,
      key: pem,
    }),
  ),
  pool: orNull(
    object({
      max: { type: ['integer', 'null'], minimum: 1, maximum: 100 },
      idleTimeoutMs: { type: ['integer', 'null'], minimum: 1_000, maximum: 3_600_000 },
    }),
  ),
  statementTimeoutMs: { type: ['integer', 'null'], minimum: 1, maximum: 3_600_000 },
  authSource: { type: ['string', 'null'], minLength: 1, maxLength: 255 },
  hosts: orNull({ type: 'array', maxItems: 50, items: object({ host, port }, ['host', 'port']) }),
  srv: { type: ['boolean', 'null'] },
  replicaSet: { type: ['string', 'null'], minLength: 1, maxLength: 128 },
  readPreference: { type: ['string', 'null'], enum: [...readPreferences, null] },
  authMechanism: { type: ['string', 'null'], enum: [...authMechanisms, null] },
} as const;

const driver = { type: 'null' } as const;

export const createSourceBody = object(
  {
    hubId: id,
    label,
    engine,
    driver,
    connectionSettings: object(settings, ['host', 'port', 'database', 'user', 'password']),
    parentNodeId: id,
    ...readOnly('sourceId', 'accountId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
  },
  ['hubId', 'label', 'engine', 'connectionSettings'],
);

export const updateSourceBody = object({
  label,
  engine,
  driver,
  connectionSettings: object(settings),
  parentNodeId: id,
  ...readOnly('sourceId', 'accountId', 'hubId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
});

interface SourceBody {
  hubId: string;
  label: string;
  engine: string;
  connectionSettings: SettingsBody;
  parentNodeId?: string;
}

type Nullable<T> = { [N in keyof T]?: T[N] | null };

const texts = ['authSource', 'replicaSet', 'readPreference', 'authMechanism'] as const;
type Removable = 'statementTimeoutMs' | 'srv' | (typeof texts)[number];

type SettingsBody = Omit<ConnectionSettings, 'tls' | 'pool' | 'hosts' | Removable> &
  Nullable<Pick<ConnectionSettings, Removable>> & {
    hosts?: Host[] | null;
    tls?: ({ mode?: string } & Nullable<Omit<Tls, 'mode'>>) | null;
    pool?: Nullable<PoolSettings> | null;
  };

/** What an object that is null stands for: each of its members taken away. */
const none = {
  tls: { mode: 'prefer', ca: null, cert: null, key: null },
  pool: { max: null, idleTimeoutMs: null },
};

/** What is null is taken away; the contract says so with 0 or an empty text. A TLS object without a mode leaves it. */
function toSettings(body: SettingsBody): ConnectionSettings {
  const { statementTimeoutMs, hosts, srv, authSource, replicaSet, readPreference, authMechanism, ...rest } =
    body;
  const tls = body.tls === null ? none.tls : body.tls;
  const pool = body.pool === null ? none.pool : body.pool;
  return {
    ...rest,
    ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs: statementTimeoutMs ?? 0 }),
    ...filled({ authSource, replicaSet, readPreference, authMechanism }, [...texts], ''),
    ...(hosts === undefined ? {} : { hosts: { hosts: hosts ?? [] } }),
    ...(srv === undefined ? {} : { srv: srv ?? false }),
    tls: tls && { mode: tls.mode ?? '', ...filled(tls, ['ca', 'cert', 'key'], '') },
    pool: pool && filled(pool, ['max', 'idleTimeoutMs'], 0),
  };
}

/** The members that were given, with `absent` for null. */
function filled<N extends string, V>(
  from: Partial<Record<N, V | null>>,
  names: N[],
  absent: V,
): Partial<Record<N, V>> {
  const given: Partial<Record<N, V>> = {};
  for (const name of names) if (from[name] !== undefined) given[name] = from[name] ?? absent;
  return given;
}

const sourceIdOf = (request: FastifyRequest) => (request.params as { sourceId: string }).sourceId;

export function createSourceHandlers({ catalog, executor }: Upstreams) {
  return {
    create: async (request, reply) => {
      const { hubId, label, engine, connectionSettings, parentNodeId } = request.body as SourceBody;
      const { source } = await catalog.createSource(
        { hubId, label, engine, connectionSettings: toSettings(connectionSettings), parentNodeId },
        request.context,
      );
      setVersion(reply, source?.version);
      return source === undefined ? {} : toCreatedSourceJson(source);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { sources, total } = await catalog.listSources({ hubId, page }, request.context);
      setPageHeaders(reply, page, total);
      return sources.map(toListedSourceJson);
    },

    get: async (request, reply) => {
      const { source } = await catalog.getSource({ sourceId: sourceIdOf(request) }, request.context);
      setVersion(reply, source?.version);
      return source === undefined ? {} : toSourceJson(source);
    },

    update: async (request, reply) => {
      const { label, engine, connectionSettings, parentNodeId } = request.body as Partial<SourceBody>;
      const { source } = await catalog.updateSource(
        {
          sourceId: sourceIdOf(request),
          label,
          engine,
          parentNodeId,
          connectionSettings: connectionSettings && toSettings(connectionSettings),
          ...expectedVersions(request),
        },
        request.context,
      );
      setVersion(reply, source?.version);
      return source === undefined ? {} : toSourceJson(source);
    },

    remove: async (request) => {
      await catalog.deleteSource(
        { sourceId: sourceIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },

    test: async (request) => {
      const { latencyMs, serverVersion } = await executor.testSource(
        { sourceId: sourceIdOf(request) },
        request.context,
      );
      return { ok: true, latencyMs: Math.round(latencyMs * 1_000) / 1_000, serverVersion };
    },

    schema: async (request) => executor.readSchema({ sourceId: sourceIdOf(request) }, request.context),
  } satisfies Record<string, Handler>;
}
