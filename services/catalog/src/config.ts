/** The catalog's settings. */

import { serverName } from '@datahub/contract/source-settings';
import { faultOfPublicKey } from '@datahub/sealing/key-pair';
import { isAllowedKey, isPossibleKey } from '@datahub/service-kit/api-key';
import type { SettingsReader } from '@datahub/service-kit/settings/settings';
import {
  operatorSocketOf,
  readAccountQuota,
  readStoreUrl,
} from '@datahub/service-kit/settings/store-settings';
import type { MailPolicy } from './events/documents.ts';

export interface CatalogConfig {
  /** `sqlite:<file>` or `mongodb://…`. */
  storeUrl: string;
  /** The Unix socket for the operator's commands, if only one process can open the store. */
  operatorSocket?: string | undefined;
  namespace: string;
  apiKey?: string | undefined;
  keyFile?: string | undefined;
  /** Public sealing keys, `<id>:<base64url>` each; the first seals. */
  sealingPublicKeys: string[];
  /** How long audit entries of changes are kept, and those that count uses. */
  auditKeptMs: number;
  usageKeptMs: number;
  /** How long an expired key is shown. */
  expiredKeptMs: number;
  /** How long the runs of watches are kept, and events. */
  runsKeptMs: number;
  eventsKeptMs: number;
  /** Undefined if mail is off. */
  mail: MailPolicy | undefined;
  /** Documents of each kind in one account; 0 for no limit. */
  accountQuota: number;
  /** How long the runs of queries are kept, and how many: of one query, and of one account. */
  queryRunsKeptMs: number;
  queryRunsMax: number;
  accountRunsMax: number;
  /** Bytes of the records and responses stored for `Idempotency-Key`, for each account. */
  storedBytesMax: number;
  /** Catalog processes on the same store. */
  replicas: number;
  /** How long an executor may cache a definition. */
  leaseMs: number;
  /** After which silence an executor loses its slots. */
  slotLeaseMs: number;
  /** The most sessions of servers that have a limit, by `host:port`. */
  serverLimits: ReadonlyMap<string, number>;
}

/** `apart`: the catalog runs as its own process, so it cannot read sealing keys from the data directory. */
export function readCatalogConfig(reader: SettingsReader, { apart = false } = {}): CatalogConfig {
  const dataDir = reader.text('DATAHUB_DATA_DIR');
  const storeUrl = readStoreUrl(reader, 'catalog');
  const apiKey = reader.optional('DATAHUB_API_KEY');
  if (apiKey !== undefined && !isAllowedKey(apiKey)) {
    reader.fault('DATAHUB_API_KEY must have 32 to 256 characters of A-Z, a-z, 0-9, _ and -.');
  }
  if (apiKey !== undefined && isAllowedKey(apiKey) && !isPossibleKey(apiKey)) {
    reader.fault('DATAHUB_API_KEY looks like a key of this hub, but its checksum is wrong: it was mistyped.');
  }
  const namespace = reader.text('DATAHUB_NAMESPACE');
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(namespace)) {
    reader.fault('DATAHUB_NAMESPACE must be a lower-case word of at most 32 characters.');
  }
  return {
    storeUrl,
    operatorSocket: operatorSocketOf(storeUrl, 'socket'),
    namespace,
    apiKey,
    keyFile: `${dataDir}/api-key`,
    sealingPublicKeys: readPublicKeys(reader, apart),
    auditKeptMs: reader.integer('DATAHUB_AUDIT_DAYS') * 86_400_000,
    usageKeptMs: reader.integer('DATAHUB_USAGE_DAYS') * 86_400_000,
    expiredKeptMs: reader.integer('DATAHUB_EXPIRED_KEY_DAYS') * 86_400_000,
    runsKeptMs: reader.integer('DATAHUB_RUN_DAYS') * 86_400_000,
    queryRunsKeptMs: reader.integer('DATAHUB_QUERY_RUN_DAYS') * 86_400_000,
    queryRunsMax: reader.integer('DATAHUB_QUERY_RUNS_MAX'),
    accountRunsMax: reader.integer('DATAHUB_ACCOUNT_RUNS_MAX'),
    eventsKeptMs: reader.integer('DATAHUB_EVENT_DAYS') * 86_400_000,
    mail: readMail(reader),
    accountQuota: readAccountQuota(reader),
    storedBytesMax: reader.integer('DATAHUB_KEPT_BYTES_MAX'),
    replicas: reader.integer('DATAHUB_CATALOG_REPLICAS'),
    leaseMs: reader.integer('DATAHUB_LEASE_MS'),
    slotLeaseMs: reader.integer('DATAHUB_SLOT_LEASE_MS'),
    serverLimits: readServerLimits(reader),
  };
}

function readMail(reader: SettingsReader): MailPolicy | undefined {
  const url = reader.optional('DATAHUB_MAIL_URL')?.replace(/\/+$/, '');
  const domains = reader.list('DATAHUB_MAIL_DOMAINS');
  const hourlyMax = reader.integer('DATAHUB_MAIL_HOURLY_MAX');
  if (url === undefined) return undefined;
  const isAddress = URL.canParse(url) && /^https?:\/\/[^\s<>"?#@]+$/i.test(url);
  if (!isAddress)
    reader.fault(
      'DATAHUB_MAIL_URL must be an address such as https://hub.example, and nothing behind its path.',
    );
  return { url, domains, hourlyMax };
}

function readPublicKeys(reader: SettingsReader, apart: boolean): string[] {
  const name = 'DATAHUB_SEALING_PUBLIC_KEYS';
  const keys = reader.list(name);
  for (const fault of keys.map(faultOfPublicKey)) if (fault !== undefined) reader.fault(`${name}: ${fault}`);
  if (apart && keys.length === 0) {
    reader.fault(
      `${name} is not set: without it no credential can be stored. \`npm run datahub -- sealing-keys\` makes a pair.`,
    );
  }
  return keys;
}

const entryShape = /^(?<host>[^\s=]+):(?<port>\d{1,5})=(?<max>\d{1,5})$/;

/** By `serverName`. */
function readServerLimits(reader: SettingsReader): Map<string, number> {
  const name = 'DATAHUB_SERVER_CONNECTIONS_MAX';
  const limits = new Map<string, number>();
  for (const entry of reader.list(name)) {
    const { host = '', port = '', max = '' } = entryShape.exec(entry)?.groups ?? {};
    const isValid = Number(port) >= 1 && Number(port) <= 65_535 && Number(max) >= 1;
    if (!isValid) reader.fault(`${name}: ${entry} must be host:port=n, such as db.example.com:5432=50.`);
    else limits.set(serverName(host.replace(/^\[(.*)\]$/, '$1'), Number(port)), Number(max));
  }
  return limits;
}
