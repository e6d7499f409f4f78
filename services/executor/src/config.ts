/** The executor's settings. */

import { faultOfKey } from '@datahub/sealing/key-pair';
import type { SettingsReader } from '@datahub/service-kit/settings/settings';
import type { ListName } from '@datahub/service-kit/settings/settings-table';
import { parseAllowed, type RdsIamSettings } from './credentials/rds-tokens.ts';
import type { MailSettings } from './deliveries/send-mail.ts';
import type { TransferLimits } from './execution/execution-state.ts';
import type { ExecutionLimits } from './execution/prepare.ts';
import { type AddressPolicySettings, faultOfEntry } from './network/address-policy.ts';
import { type ConnectionLimits, defaultPoolSettings, type PoolSettings } from './pool/pool-types.ts';

export interface ExecutorConfig {
  addresses: AddressPolicySettings;
  pool: PoolSettings;
  connections: ConnectionLimits;
  executions: ExecutionLimits;
  transfer: TransferLimits;
  rdsIam: RdsIamSettings;
  /** Whether it sends what destinations are told. */
  delivers: boolean;
  /** Undefined if no mail is sent. */
  mail: MailSettings | undefined;
  /** The largest row that a source may send. */
  rowBytesMax: number;
  /** The most definitions in the cache. */
  definitionsMax: number;
  /** The time for which a cached definition may be used while no catalog is reachable. */
  staleMaxMs: number;
  /** The memory for cached answers, in bytes. */
  cacheBytesMax: number;
  /** How often queries are described again; 0 for never. */
  driftIntervalMs: number;
  /** Executions longer than this are logged. */
  slowMs: number;
  /** True if statements carry a comment that names their query. */
  statementComments: boolean;
}

export interface ConfigDefaults {
  /** True for a hub in one process on the user's machine. Private addresses are then allowed by default. */
  embedded: boolean;
}

export function readExecutorConfig(reader: SettingsReader, { embedded }: ConfigDefaults): ExecutorConfig {
  return {
    addresses: readAddresses(reader, embedded),
    pool: readPool(reader),
    connections: readConnections(reader),
    executions: {
      statementTimeoutMs: reader.integer('DATAHUB_STATEMENT_TIMEOUT_MS'),
      rowsMax: reader.integer('DATAHUB_ROWS_MAX'),
    },
    transfer: {
      timeoutMs: reader.integer('DATAHUB_TRANSFER_TIMEOUT_MS'),
      bytesPerSecondMin: reader.integer('DATAHUB_TRANSFER_BYTES_PER_SECOND_MIN'),
    },
    rdsIam: readRdsIam(reader),
    delivers: reader.flag('DATAHUB_OWN_WORK'),
    mail: readMail(reader),
    rowBytesMax: reader.integer('DATAHUB_ROW_BYTES_MAX'),
    definitionsMax: reader.integer('DATAHUB_DEFINITIONS_MAX'),
    staleMaxMs: reader.integer('DATAHUB_DEFINITIONS_AWAY_MS'),
    driftIntervalMs: reader.integer('DATAHUB_DRIFT_INTERVAL_MS'),
    cacheBytesMax: reader.integer('DATAHUB_CACHE_BYTES_MAX'),
    statementComments: reader.flag('DATAHUB_STATEMENT_COMMENTS'),
    slowMs: reader.integer('DATAHUB_SLOW_MS'),
  };
}

function readAddresses(reader: SettingsReader, embedded: boolean): AddressPolicySettings {
  const list = (name: ListName): string[] => {
    const entries = reader.list(name);
    for (const fault of entries.map(faultOfEntry)) if (fault !== undefined) reader.fault(`${name}: ${fault}`);
    return entries;
  };
  return {
    loopbackAllowed: reader.computedFlag('DATAHUB_SOURCES_LOOPBACK', embedded),
    privateAllowed: reader.computedFlag('DATAHUB_SOURCES_PRIVATE', embedded),
    allow: list('DATAHUB_SOURCES_ALLOW'),
    deny: list('DATAHUB_SOURCES_DENY'),
    ownNames: reader.list('DATAHUB_OWN_NAMES'),
  };
}

/** A comma in a name without quotes would begin another address. */
const oneSender =
  /^(?:(?:"[^"\\\p{Cc}]*"|[^"<>@,;:\\\p{Cc}]*) *<[^\s"<>@,;:]+@[\w.-]+>|[^\s"<>@,;:]+@[\w.-]+)$/u;

function readMail(reader: SettingsReader): MailSettings | undefined {
  const server = reader.optional('DATAHUB_MAIL_SERVER');
  const from = reader.optional('DATAHUB_MAIL_FROM') ?? '';
  const [user, password] = [reader.optional('DATAHUB_MAIL_USER'), reader.optional('DATAHUB_MAIL_PASSWORD')];
  if (server === undefined) return undefined;
  const { protocol = '', hostname = '' } = URL.parse(server) ?? {};
  if (!/^smtps?:$/.test(protocol) || hostname === '' || !/^\w+:\/\/[^/?#@\s]+\/?$/.test(server))
    reader.fault('DATAHUB_MAIL_SERVER must be smtps://host:port or smtp://host:port.');
  if (!oneSender.test(from))
    reader.fault('DATAHUB_MAIL_FROM must be one address such as Data Hub <hub@example.com>.');
  if ((user === undefined) !== (password === undefined))
    reader.fault('DATAHUB_MAIL_USER and DATAHUB_MAIL_PASSWORD must be set together.');
  return { server, user, password, from };
}

function readRdsIam(reader: SettingsReader): RdsIamSettings {
  const allowed = reader.list('DATAHUB_RDS_IAM_ALLOW').flatMap((entry) => {
    const found = parseAllowed(entry);
    if (found === undefined) reader.fault(`DATAHUB_RDS_IAM_ALLOW: ${entry} must be account/user@host.`);
    return found ?? [];
  });
  const accessKeyId = reader.optional('DATAHUB_AWS_ACCESS_KEY_ID');
  const secretAccessKey = reader.optional('DATAHUB_AWS_SECRET_ACCESS_KEY');
  const sessionToken = reader.optional('DATAHUB_AWS_SESSION_TOKEN');
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    if (allowed.length > 0)
      reader.fault(
        'DATAHUB_RDS_IAM_ALLOW needs DATAHUB_AWS_ACCESS_KEY_ID and DATAHUB_AWS_SECRET_ACCESS_KEY: the hub uses no other AWS credentials.',
      );
    return { allowed, credentials: undefined };
  }
  const credentials = {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
  return { allowed, credentials };
}

function readPool(reader: SettingsReader): PoolSettings {
  const settings = {
    ...defaultPoolSettings,
    sizeMax: reader.integer('DATAHUB_POOL_MAX'),
    waitMs: reader.integer('DATAHUB_POOL_WAIT_MS'),
    connectTimeoutMs: reader.integer('DATAHUB_CONNECT_TIMEOUT_MS'),
    idleTimeoutMs: reader.integer('DATAHUB_POOL_IDLE_MS'),
    lifetimeMs: reader.integer('DATAHUB_POOL_LIFETIME_MS'),
  };
  if (settings.connectTimeoutMs >= settings.waitMs) {
    reader.fault(
      'DATAHUB_CONNECT_TIMEOUT_MS must be below DATAHUB_POOL_WAIT_MS, so that waiting executions receive the reason.',
    );
  }
  return settings;
}

function readConnections(reader: SettingsReader): ConnectionLimits {
  return {
    connectionsMax: reader.integer('DATAHUB_CONNECTIONS_MAX'),
    connectionsPerAccountMax: reader.integer('DATAHUB_CONNECTIONS_PER_ACCOUNT_MAX'),
    waitingPerAccountMax: reader.integer('DATAHUB_WAITING_PER_ACCOUNT_MAX'),
    waitingMax: reader.integer('DATAHUB_WAITING_MAX'),
    waitingBytesMax: reader.integer('DATAHUB_WAITING_BYTES_MAX'),
  };
}

/** The source of a separate executor's private sealing keys: the setting itself, or an existing file. */
export interface SealingSettings {
  privateKeys: string[];
  keyFile: string | undefined;
}

export function readSealing(reader: SettingsReader): SealingSettings {
  const privateKeys = reader.list('DATAHUB_SEALING_PRIVATE_KEYS');
  const keyFile = reader.optional('DATAHUB_SEALING_KEY_FILE');
  for (const fault of privateKeys.map(faultOfKey)) {
    if (fault !== undefined) reader.fault(`DATAHUB_SEALING_PRIVATE_KEYS: ${fault}`);
  }
  if (privateKeys.length === 0 && keyFile === undefined) {
    reader.fault(
      'Set DATAHUB_SEALING_PRIVATE_KEYS or DATAHUB_SEALING_KEY_FILE: without a key no stored credential can be decrypted.',
    );
  }
  return { privateKeys, keyFile };
}
