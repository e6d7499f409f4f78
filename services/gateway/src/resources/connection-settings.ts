/** The connection settings of a source in bodies and answers. */

import type { Complete } from '@datahub/contract/complete';
import { sourceLimits as limits } from '@datahub/contract/limits';
import { awsRegionShape, passwordProviders } from '@datahub/contract/password-from';
import {
  authMechanisms,
  poolings,
  readPreferences,
  type ServerSetting,
  serverSettingNames,
  statementComments,
  type TextServerSetting,
  targetSessionAttrs,
  textServerSettings,
  tlsModes,
} from '@datahub/contract/source-settings';
import type { ConnectionSettings, PoolSettings, Ssh, Tls } from '@datahub/proto/catalog/v1/catalog';
import { count, type FromSchema, list, object, orNull, record, text } from '../http/json-schema.ts';
import { readSession, session, sessionOf, toSessionAnswer } from './session-schema.ts';

const host = { type: 'string', minLength: limits.hostLength.min, maxLength: limits.hostLength.max } as const;
const port = { type: 'integer', minimum: limits.port.min, maximum: limits.port.max } as const;
/** Null removes an optional setting. */
const pem = { type: ['string', 'null'], maxLength: limits.pemLength.max } as const;

const serverMembers = {
  authSource: {
    type: ['string', 'null'],
    minLength: limits.authSourceLength.min,
    maxLength: limits.authSourceLength.max,
  },
  hosts: orNull({
    type: 'array',
    maxItems: limits.hosts.max,
    items: object({ host, port }, ['host', 'port']),
  }),
  srv: { type: ['boolean', 'null'] },
  replicaSet: {
    type: ['string', 'null'],
    minLength: limits.replicaSetLength.min,
    maxLength: limits.replicaSetLength.max,
  },
  readPreference: { type: ['string', 'null'], enum: [...readPreferences, null] },
  authMechanism: { type: ['string', 'null'], enum: [...authMechanisms, null] },
  pooling: { type: ['string', 'null'], enum: [...poolings, null] },
  targetSessionAttrs: { type: ['string', 'null'], enum: [...targetSessionAttrs, null] },
  statementComments: { type: ['string', 'null'], enum: [...statementComments, null] },
} as const satisfies Record<ServerSetting, object>;

const members = {
  host,
  port,
  database: {
    type: 'string',
    minLength: limits.databaseLength.min,
    maxLength: limits.databaseLength.max,
  },
  user: { type: 'string', maxLength: limits.userLength.max },
  password: { type: 'string', maxLength: limits.passwordLength.max },
  tls: orNull(
    object({
      mode: { type: 'string', enum: tlsModes },
      ca: pem,
      cert: pem,
      key: pem,
    }),
  ),
  pool: orNull(
    object({
      max: {
        type: ['integer', 'null'],
        minimum: limits.poolConnections.min,
        maximum: limits.poolConnections.max,
      },
      idleTimeoutMs: {
        type: ['integer', 'null'],
        minimum: limits.idleTimeoutMs.min,
        maximum: limits.idleTimeoutMs.max,
      },
    }),
  ),
  statementTimeoutMs: {
    type: ['integer', 'null'],
    minimum: limits.statementTimeoutMs.min,
    maximum: limits.statementTimeoutMs.max,
  },
  ...serverMembers,
  passwordFrom: orNull(
    object(
      {
        kind: { type: 'string', enum: passwordProviders },
        region: { type: 'string', pattern: awsRegionShape },
      },
      ['kind', 'region'],
    ),
  ),
  /** Absent members stay unchanged. */
  ssh: orNull(
    object({
      host,
      port: { type: ['integer', 'null'], minimum: limits.port.min, maximum: limits.port.max },
      user: { type: 'string', minLength: limits.sshUserLength.min, maxLength: limits.sshUserLength.max },
      hostKey: { type: 'string', minLength: limits.hostKeyLength.min, maxLength: limits.hostKeyLength.max },
      privateKey: pem,
      password: { type: ['string', 'null'], maxLength: limits.passwordLength.max },
    }),
  ),
  session,
} as const;

const required = object(members, ['host', 'port', 'database', 'user']);
/** A new source needs `password`, unless `passwordFrom` provides it. */
export const createSettings: typeof required = {
  ...required,
  ...{ if: { required: ['passwordFrom'] }, else: { required: ['password'] } },
};
export const updateSettings = object(members);

const tls = record({ mode: text, ca: text, cert: text, key: text }, ['ca', 'cert', 'key']);
const pool = record({ max: count, idleTimeoutMs: count }, ['max', 'idleTimeoutMs']);
const serverAnswers = {
  authSource: text,
  hosts: list(record({ host: text, port: count })),
  srv: { type: 'boolean' },
  replicaSet: text,
  readPreference: text,
  authMechanism: text,
  pooling: text,
  targetSessionAttrs: text,
  statementComments: text,
} as const satisfies Record<ServerSetting, object>;
export const connectionSettings = record(
  {
    host: text,
    port: count,
    database: text,
    user: { type: 'string', description: 'A mask.' },
    password: { type: 'string', description: 'A mask.' },
    tls,
    pool,
    statementTimeoutMs: count,
    ...serverAnswers,
    passwordFrom: record({ kind: text, region: text }),
    ssh: record(
      {
        ...{ host: text, port: count, user: text, hostKey: text },
        privateKey: { type: 'string', description: 'A mask.' },
        password: { type: 'string', description: 'A mask.' },
      },
      ['privateKey', 'password'],
    ),
    session: sessionOf,
  },
  ['tls', 'pool', 'statementTimeoutMs', ...serverSettingNames, 'passwordFrom', 'ssh', 'session'],
);

type SettingsBody = FromSchema<typeof updateSettings>;
type SettingsJson = FromSchema<typeof connectionSettings>;

/** `tls: null` and `pool: null` remove every member. */
const removed = {
  tls: { mode: 'prefer', ca: null, cert: null, key: null },
  pool: { max: null, idleTimeoutMs: null },
} as const;

/**
 * Converts settings for the catalog, which removes those that are 0, false or empty. A TLS object without a mode keeps
 * it.
 */
export function toSettings(body: SettingsBody): Complete<ConnectionSettings> {
  const { host, port, database, user, password, hosts } = body;
  return {
    ...{ host, port, database, user, password },
    tls: toTls(body.tls === null ? removed.tls : body.tls),
    pool: toPool(body.pool === null ? removed.pool : body.pool),
    statementTimeoutMs: orAbsent(body.statementTimeoutMs, 0),
    ...toTextSettings(body),
    hosts: hosts === undefined ? undefined : { hosts: hosts ?? [] },
    srv: orAbsent(body.srv, false),
    passwordFrom: orAbsent(body.passwordFrom, { kind: '', region: '' }),
    ssh: toSsh(body.ssh),
    sessionJson: readSession(body.session),
  };
}

const toTls = (tls: SettingsBody['tls']): Complete<Tls> | undefined =>
  tls
    ? {
        mode: tls.mode ?? '',
        ca: orAbsent(tls.ca, ''),
        cert: orAbsent(tls.cert, ''),
        key: orAbsent(tls.key, ''),
      }
    : undefined;

/** An empty host removes the bastion. */
const toSsh = (ssh: SettingsBody['ssh']): Complete<Ssh> | undefined => {
  if (ssh === undefined) return undefined;
  const { host, port, user, hostKey, privateKey, password }: NonNullable<typeof ssh> = ssh ?? { host: '' };
  return {
    ...{ host, user, hostKey },
    port: orAbsent(port, 0),
    privateKey: orAbsent(privateKey, ''),
    password: orAbsent(password, ''),
  };
};

const toPool = (pool: SettingsBody['pool']): Complete<PoolSettings> | undefined =>
  pool ? { max: orAbsent(pool.max, 0), idleTimeoutMs: orAbsent(pool.idleTimeoutMs, 0) } : undefined;

/** Returns what removes the setting in place of null. */
const orAbsent = <V>(value: V | null | undefined, absent: V): V | undefined =>
  value === null ? absent : value;

const toTextSettings = (from: { [S in TextServerSetting]?: string | null | undefined }) =>
  Object.fromEntries(textServerSettings.map((name) => [name, orAbsent(from[name], '')])) as Record<
    TextServerSetting,
    string | undefined
  >;

/** Leaves out settings that have their defaults. */
export function toSettingsJson(settings: ConnectionSettings = {}): Complete<SettingsJson> {
  const { host, port, database, user, password, tls, pool, statementTimeoutMs, hosts, srv } = settings;
  const { passwordFrom, ssh } = settings;
  const hasPool = pool?.max !== undefined || pool?.idleTimeoutMs !== undefined;
  return {
    host: host as string,
    port: port as number,
    database: database as string,
    user: user as string,
    password: password as string,
    tls: tls && hasTls(tls) ? tls : undefined,
    pool: hasPool ? pool : undefined,
    statementTimeoutMs,
    hosts: hosts?.hosts,
    srv,
    passwordFrom,
    ssh: ssh && toSshJson(ssh),
    session: toSessionAnswer(settings.sessionJson),
    ...toTextSettings(settings),
  };
}

const toSshJson = ({ host, port, user, hostKey, ...secrets }: Ssh): NonNullable<SettingsJson['ssh']> => ({
  host: host as string,
  port: port as number,
  user: user as string,
  hostKey: hostKey as string,
  ...secrets,
});

const hasTls = (tls: Tls): boolean =>
  tls.mode !== 'prefer' || tls.ca !== undefined || tls.cert !== undefined || tls.key !== undefined;
