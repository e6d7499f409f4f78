/**
 * Every setting: its default, the values that it accepts, and what it does. The reader, its errors, the warning about
 * unknown settings and docs/configuration.md (`npm run settings-page`) come from this table.
 */

import { largestResponse } from '@datahub/contract/limits';
import { catalog } from './catalog-settings.ts';
import {
  choice,
  computedFlag,
  computedInteger,
  flag,
  integer,
  type ListSetting,
  list,
  optional,
  port,
  text,
} from './setting-kinds.ts';

const GiB = 1_073_741_824;
const MiB = 1_048_576;
/** The least that the largest body can be set to. */
const bodyMin = 1_024;

const all = {
  PORT: integer(8080, port, 'the public port'),
  HOST: text('127.0.0.1', 'the address that all ports listen on; containers set 0.0.0.0'),
  DATAHUB_DATA_DIR: text('data', 'the directory for documents (SQLite) and keys; created with mode 0700'),
  DATAHUB_STORE_URL: optional(
    '`sqlite:<directory>`, which contains a file for each service, or `mongodb://…`',
    '`sqlite:<data dir>`',
  ),
  DATAHUB_API_KEY: optional(
    'a key of the first account: 32 to 256 characters of `A-Z a-z 0-9 _ -`; once revoked or expired, it is not added again',
    'created at the first start',
  ),
  DATAHUB_DEMO: flag(true, '0 starts `npm start` without the demo'),
  DATAHUB_OWN_WORK: flag(
    true,
    '0 runs no watches, training jobs, deliveries or renewals of sign-ins, as in the [test of a backup](operations.md#backup)',
  ),
  DATAHUB_WORKERS: text(
    '1',
    '`npm start`: the number of [workers](operations.md#all-cores-of-one-machine) that share the port, 1 to 64, or `auto` for one on each core; `npm start -- --workers N` wins. Limits "of the process", such as `DATAHUB_CONNECTIONS_MAX` and `DATAHUB_CACHE_BYTES_MAX`, apply to each worker',
  ),
  DATAHUB_NAMESPACE: text('dh', 'the prefix of all ids'),
  DATAHUB_LOG_LEVEL: choice(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    { fallback: 'info' },
    'the least level that is logged',
  ),
  DATAHUB_LOG_FORMAT: choice(
    ['auto', 'json', 'pretty'],
    { fallback: 'auto' },
    '`pretty` writes one line for each event, without ids; `auto` is pretty on a terminal, else JSON',
  ),
  DATAHUB_GRPC_REFLECTION: flag(
    false,
    'separate: 1 enables server reflection for anyone who can reach an inner port, for grpcurl; see [grpc.md](grpc.md)',
  ),
  DATAHUB_METRICS_PORT: computedInteger(
    '0 in one process; separate: gateway 9090, catalog 9091, executor 9092, ml 9093',
    port,
    'the port of `/metrics`; 0 disables it',
  ),
  DATAHUB_KEPT_BYTES_MAX: integer(
    16 * MiB,
    [65_536, GiB],
    'the bytes that one account may store for `Idempotency-Key` (responses and records); beyond it, requests with the header get 429',
  ),
  DATAHUB_ACCOUNT_QUOTA: integer(
    100_000,
    [0, 1_000_000_000],
    'the maximum number of hubs, folders, sources, queries, boards, watches, keys, people, clients, agents and classifiers of one account, each. With several catalogs, each further one can add one, or 1 %, if they are created at once; 0 for no limit',
  ),
  DATAHUB_DRAIN_MS: integer(25_000, [0, 600_000], 'how long running work may continue after SIGTERM'),
  DATAHUB_URL: optional(
    'the command line: the hub to call',
    'the hub that runs over the data directory, else port `PORT` of this machine',
  ),
  DATAHUB_KEY: optional('the examples that the console shows: the key; the hub does not read it'),
};

const gateway = {
  DATAHUB_EDGE: choice(
    ['express-gateway', 'none'],
    { shown: '`express-gateway` if separate, `none` in one process' },
    "the pipeline in front of the hub's own checks, see [edge.md](edge.md)",
  ),
  DATAHUB_EDGE_CONFIG: optional("the YAML file of the edge's pipeline", '`packages/edge/gateway.config.yml`'),
  DATAHUB_CONSOLE: flag(
    true,
    'the [console](api.md#the-console) at `/` and the [page of the API](api.md#the-page-of-the-api) at `/docs`; 0 disables both (404)',
  ),
  DATAHUB_CORS_ORIGINS: list(
    'the origins that browsers may call from (`https://app.example`), separated by commas',
    '`*`',
  ),
  DATAHUB_PUBLIC_ORIGIN: optional(
    "the origin that browsers load the hub from, such as `https://hub.example`. Links of tools and `servers` in the document of a hub begin with it. Browsers send no `Origin` with a GET to the page's own origin; the hub accepts such a GET (`Sec-Fetch-Site: same-origin`) with a key limited to this origin",
  ),
  DATAHUB_OIDC_ISSUER: optional(
    'the provider of OpenID Connect at which [people sign in](people.md), such as `https://id.example`; it needs `DATAHUB_PUBLIC_ORIGIN` and the three settings below',
  ),
  DATAHUB_OIDC_CLIENT_ID: optional('the id of the hub at the provider'),
  DATAHUB_OIDC_CLIENT_SECRET: optional('its secret'),
  DATAHUB_OIDC_CLIENT_SECRET_FILE: optional('a file that contains the secret, instead'),
  DATAHUB_OIDC_SCOPES: text('openid profile email', 'the scopes that the hub asks for'),
  DATAHUB_OIDC_GROUPS_CLAIM: text(
    'groups',
    'the claim that lists the groups of a person; dots lead to members of members',
  ),
  DATAHUB_OIDC_REFRESH_MS: integer(3_600_000, [1_000, 3_600_000], 'how often the groups are read again'),
  DATAHUB_OIDC_AWAY_MS: integer(86_400_000, [0, 604_800_000], 'how long they count without the provider'),
  DATAHUB_OIDC_ACCOUNT: optional('the name or id of the account that people sign in to', 'the first account'),
  DATAHUB_OAUTH_REGISTRATION: flag(
    false,
    'lets clients of agents [register themselves](mcp.md#clients), at most 10 of a network and 60 in all in an hour; needs `DATAHUB_PUBLIC_ORIGIN`',
  ),
  DATAHUB_COMPRESSION: choice(
    ['on', 'off'],
    { fallback: 'on' },
    '`off` sends responses uncompressed, for a proxy that compresses them itself',
  ),
  DATAHUB_BODY_BYTES_MAX: integer(MiB, [bodyMin, 64 * MiB], 'the maximum size of a body'),
  DATAHUB_LARGE_BODY_BYTES_MAX: integer(
    8 * MiB,
    [bodyMin, 64 * MiB],
    'the same for training, predicting and summaries',
  ),
  DATAHUB_KEY_BODIES_BYTES_MAX: computedInteger(
    'twice the largest body',
    [bodyMin, 4 * GiB],
    'the total size of bodies in progress of one key in one gateway; at least the largest body',
  ),
  DATAHUB_BODIES_BYTES_MAX: computedInteger(
    '6 times the largest body',
    [2 * bodyMin, 4 * GiB],
    'the same of all keys. Accounts share it: several bodies of one account get at most half, and a single body may take all that is free. A quarter is reserved for bodies of at most 64 KiB. At least twice the largest body',
  ),
  DATAHUB_KEY_RESPONSES_BYTES_MAX: computedInteger(
    '64 MiB',
    [largestResponse, 4 * GiB],
    'the total size of responses in progress that are sent in one piece, such as lists, of one key in one gateway; responses of at most 64 KiB do not count',
  ),
  DATAHUB_RESPONSES_BYTES_MAX: computedInteger(
    '128 MiB',
    [2 * largestResponse, 4 * GiB],
    'the same of all keys, shared between accounts in the same way; a quarter of it is reserved for responses of at most 1 MiB',
  ),
  DATAHUB_REQUEST_TIMEOUT_MS: integer(60_000, [100, 3_600_000], 'the timeout of a whole request'),
  DATAHUB_STALL_TIMEOUT_MS: integer(
    60_000,
    [1_000, 3_600_000],
    'how long a response, streamed or not, may make no progress because its client does not read; the first 2 MiB or so fit into buffers and do not count as progress',
  ),
  DATAHUB_KEY_CACHE_MS: integer(4_000, [0, 5_000], 'how long a key is cached'),
  DATAHUB_KEY_CACHE_AWAY_MS: integer(60_000, [0, 60_000], 'the same while the catalog is unreachable'),
  DATAHUB_RATE_PER_MINUTE: integer(
    0,
    [0, 100_000_000],
    'the rate limit of keys without their own; 0 for no limit',
  ),
  DATAHUB_UNKNOWN_KEYS_PER_MINUTE: integer(
    100,
    [1, 1_000_000],
    'how many invalid keys one address (IPv6: one /64) may send in a minute, over all gateways: so many that are malformed or missing, so many in the form of an operator’s own key, and 20 times as many generated keys, codes and tokens. Each form is counted by itself',
  ),
  DATAHUB_TRUSTED_PROXIES: list(
    "addresses and ranges, such as `10.0.0.0/8`, of the proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` the hub trusts; the client's address is the last one in it that is not a trusted proxy",
  ),
  DATAHUB_CATALOG_ADDRESS: list(
    'separate: the catalog, `host:port`; a name stands for all its addresses; separate several with commas',
    '127.0.0.1:7071',
  ),
  DATAHUB_EXECUTOR_ADDRESS: list('separate: the executor, in the same way', '127.0.0.1:7072'),
  DATAHUB_ML_ADDRESS: list('separate: the ml service, in the same way', '127.0.0.1:7073'),
};

const executor = {
  DATAHUB_CATALOG_INTERNAL_ADDRESS: list(
    "separate: the catalog's internal port, `host:port`; several, and names, as for the gateway",
    '127.0.0.1:7074',
  ),
  DATAHUB_SOURCES_LOOPBACK: computedFlag(
    '1 in one process, 0 if separate',
    '1 allows sources on loopback addresses',
  ),
  DATAHUB_SOURCES_PRIVATE: computedFlag(
    '1 in one process, 0 if separate',
    '1 allows sources in private ranges',
  ),
  DATAHUB_SOURCES_ALLOW: list('CIDRs and names (`*.corp.example`): private addresses to allow'),
  DATAHUB_SOURCES_DENY: list('CIDRs and names: any addresses to deny'),
  DATAHUB_MAIL_SERVER: optional(
    'the SMTP server for mails, `smtps://host:465` or `smtp://host:587`; it is reached whatever the rules for addresses of sources',
  ),
  DATAHUB_MAIL_USER: optional('the user for the log-in at the SMTP server'),
  DATAHUB_MAIL_PASSWORD: optional('its password; it is sent over TLS only, or to a loopback address'),
  DATAHUB_MAIL_FROM: optional('the sender of mails, `Data Hub <hub@example.com>`; needed with the server'),
  DATAHUB_RDS_IAM_ALLOW: list(
    'which sources may log in with `passwordFrom` of kind `aws-rds-iam`: `account/user@host`, separated by commas',
  ),
  DATAHUB_AWS_ACCESS_KEY_ID: optional(
    'with the next two, the AWS credentials that sign these log-ins; the hub uses no others',
  ),
  DATAHUB_AWS_SECRET_ACCESS_KEY: optional('the secret of these credentials'),
  DATAHUB_AWS_SESSION_TOKEN: optional('the session token of temporary credentials'),
  DATAHUB_OWN_NAMES: list("names of the hub's own services; the executor never connects to them"),
  DATAHUB_TRANSFER_TIMEOUT_MS: integer(
    600_000,
    [1_000, 3_600_000],
    'how long a statement, or a request, may take in all if its client reads slowly; while the client makes the source wait, the timeouts of statement and request stand still',
  ),
  DATAHUB_TRANSFER_BYTES_PER_SECOND_MIN: integer(
    10_000,
    [1, 1_000_000_000],
    'the least average rate of a client that reads longer than the timeout of the statement',
  ),
  DATAHUB_STATEMENT_TIMEOUT_MS: integer(
    30_000,
    [1, 3_600_000],
    'the statement timeout of sources without their own',
  ),
  DATAHUB_ROWS_MAX: integer(0, [0, 4_294_967_295], 'the maximum number of rows of a result; 0 for no limit'),
  DATAHUB_ROW_BYTES_MAX: integer(
    16 * MiB,
    [65_536, GiB - 1],
    'the largest row that a source may send; a larger one fails as soon as the source announces its size',
  ),
  DATAHUB_POOL_MAX: integer(10, [1, 100], 'the connections of the pool of one source, over all executors'),
  DATAHUB_POOL_WAIT_MS: integer(
    5_000,
    [100, 60_000],
    'the maximum wait for a connection. An execution waits only if it is expected to have one within this time; else it fails at once',
  ),
  DATAHUB_POOL_IDLE_MS: integer(60_000, [1_000, 3_600_000], 'after how long an unused connection is closed'),
  DATAHUB_POOL_LIFETIME_MS: integer(1_800_000, [10_000, 86_400_000], 'the maximum age of a connection'),
  DATAHUB_CONNECT_TIMEOUT_MS: integer(
    4_500,
    [100, 60_000],
    'the timeout of DNS lookup, connect, TLS and login together; must be below `DATAHUB_POOL_WAIT_MS`',
  ),
  DATAHUB_CONNECTIONS_MAX: integer(200, [2, 10_000], 'the maximum number of connections of the process'),
  DATAHUB_CONNECTIONS_PER_ACCOUNT_MAX: integer(100, [1, 10_000], 'the same of an account'),
  DATAHUB_WAITING_MAX: integer(
    10_000,
    [2, 100_000],
    'the maximum number of executions that wait for a connection in the process. An account can use at most half of it, a third if another account does the same, and so on',
  ),
  DATAHUB_WAITING_BYTES_MAX: integer(
    128 * MiB,
    [MiB, 64 * GiB],
    'their memory: each counts 8 KiB and the bytes of its `context`; shared between accounts in the same way',
  ),
  DATAHUB_WAITING_PER_ACCOUNT_MAX: integer(5_000, [1, 100_000], 'the maximum number of one account'),
  DATAHUB_DEFINITIONS_MAX: integer(10_000, [1, 10_000_000], 'the maximum number of cached definitions'),
  DATAHUB_DEFINITIONS_AWAY_MS: integer(
    60_000,
    [0, 60_000],
    'how long definitions are used while the catalog is unreachable',
  ),
  DATAHUB_DRIFT_INTERVAL_MS: integer(
    600_000,
    [0, 86_400_000],
    'how often the queries of a source that is in use are [described again](definitions.md#drift); 0 for never',
  ),
  DATAHUB_CACHE_BYTES_MAX: integer(
    64 * MiB,
    [0, 64 * GiB],
    'the memory for [cached results](executing.md#caching), in each executor; 0 turns the cache off',
  ),
  DATAHUB_SLOW_MS: integer(1_000, [0, 3_600_000], 'longer executions are logged'),
  DATAHUB_STATEMENT_COMMENTS: flag(
    true,
    '0 leaves out the [comment that names the query](operations.md#queries-in-the-databases-own-tools) in each statement',
  ),
  DATAHUB_SEALING_PRIVATE_KEYS: list('separate: private keys, newest first', 'from the data directory'),
  DATAHUB_SEALING_KEY_FILE: optional('separate: a file that contains them'),
};

const ml = {
  DATAHUB_CLASSIFIERS_HELD_MAX: integer(
    200,
    [1, 100_000],
    'the maximum number of classifiers in memory; beyond it, the least recently used ones of the account with most memory are evicted',
  ),
  DATAHUB_CLASSIFIERS_HELD_BYTES_MAX: integer(
    256 * MiB,
    [16 * MiB, 1_024 * GiB],
    'their maximum total bytes',
  ),
  DATAHUB_CLASSIFIER_IDLE_MS: integer(600_000, [1_000, 86_400_000], 'how long an unused one stays in memory'),
  DATAHUB_JOB_LEASE_MS: integer(
    15_000,
    [500, 600_000],
    'if the gateway that runs a training job does not renew its lease for this long, another gateway takes the job',
  ),
  DATAHUB_SUMMARY_THREADS: integer(
    2,
    [1, 64],
    'threads for summaries of long texts; texts over 200,000 characters never use the last one',
  ),
  DATAHUB_SUMMARY_TIMEOUT_MS: integer(
    10_000,
    [100, 600_000],
    'the timeout of a summary, including its wait. Accounts take turns; at most 16 summaries of one account wait, then 429 `RATE_LIMITED`',
  ),
  DATAHUB_GENERATOR_URL: optional(
    'an OpenAI-compatible endpoint (its base URL, `https://host/v1`) that writes summaries; if it fails, the hub returns the extractive summary',
  ),
  DATAHUB_GENERATOR_MODEL: optional('the model of the endpoint', 'required with the URL'),
  DATAHUB_GENERATOR_API_KEY: optional('the key of the endpoint'),
  DATAHUB_GENERATOR_TIMEOUT_MS: integer(20_000, [100, 600_000], 'the timeout of the endpoint'),
};

const betweenServices = {
  DATAHUB_GRPC_PORT: computedInteger(
    'catalog 7071, executor 7072, ml 7073',
    port,
    'separate: the inner port',
  ),
  DATAHUB_SERVICE_TOKEN: list(
    'separate: at least 32 visible ASCII characters, the same for all services; during a change, several separated by commas: the service sends the first and accepts all',
  ),
  DATAHUB_TLS_CA: optional(
    'separate: with the next two, files for mutual TLS, in addition to the token or instead of it',
  ),
  DATAHUB_TLS_CERT: optional('the certificate'),
  DATAHUB_TLS_KEY: optional('its key'),
};

/** The sections of docs/configuration.md. */
export const sections = {
  All: all,
  Gateway: gateway,
  Catalog: catalog,
  Executor: executor,
  ml,
  'Between services': betweenServices,
};

export const settings = { ...all, ...gateway, ...catalog, ...executor, ...ml, ...betweenServices };

export type SettingName = keyof typeof settings;
export const settingNames = Object.keys(settings) as SettingName[];

export type ListName = NameOf<ListSetting>;

/** The names of the settings of a kind. */
export type NameOf<S> = { [N in SettingName]: (typeof settings)[N] extends S ? N : never }[SettingName];
