/** The gateway's settings. */

import { largestResponse } from '@datahub/contract/limits';
import { defaultPipelinePath } from '@datahub/edge/default-pipeline';
import { isAddressRange } from '@datahub/service-kit/address-range';
import type { Environment, SettingsReader } from '@datahub/service-kit/settings/settings';
import { isOrigin } from './http/validation.ts';
import { type OAuthSettings, readOAuth } from './oauth/settings.ts';
import { type OidcSettings, readOidc } from './people/oidc-settings.ts';

export interface GatewayConfig {
  host: string;
  port: number;
  /** The port of `/metrics`; 0 turns it off. */
  metricsPort: number;
  /** What handles requests before the app, and its configuration file. */
  edge: 'express-gateway' | 'none';
  edgeConfigPath: string;
  /** The values of `${NAME}` in the pipeline. */
  edgeVariables: Environment;
  /** Whether it runs watches and jobs, and renews sign-ins. */
  ownWork: boolean;
  /** Whether the console is served at `/`. */
  console: boolean;
  /** `*`, or the origins that browsers may call from. */
  corsOrigins: string[];
  /** The origin that browsers load the hub from, if it is configured. */
  publicOrigin: string | undefined;
  /** Undefined if people cannot sign in. */
  oidc: OidcSettings | undefined;
  /** Undefined if agents cannot connect by address alone. */
  oauth: OAuthSettings | undefined;
  /** Whether answers are compressed for clients that ask for it. */
  compresses: boolean;
  bodyBytesMax: number;
  /** For summaries and training. */
  largeBodyBytesMax: number;
  /** Of all bodies at the same time, and of those of one key. */
  bodiesBytesMax: number;
  keyBodiesBytesMax: number;
  /** Of all responses that are sent in one piece, at the same time, and of those of one key. */
  responsesBytesMax: number;
  keyResponsesBytesMax: number;
  /** The time limit of one request. */
  requestTimeoutMs: number;
  /** The longest time of a request whose client reads slowly. */
  transferTimeoutMs: number;
  /** How long a valid key is cached, and how long while the catalog cannot be reached. */
  keyCacheMs: number;
  keyCacheAwayMs: number;
  /** Requests a minute for a key without a rate of its own; 0 for no limit. */
  ratePerMinute: number;
  /** Refused keys for each address in a minute. */
  unknownKeysPerMinute: number;
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is trusted. */
  trustedProxies: string[];
  /** How long an answer stays open if its client reads nothing. */
  stallTimeoutMs: number;
  /** How long requests may continue after SIGTERM. */
  drainMs: number;
}

/** `edge` and `metricsPort` are defaults: the pipeline and 9090 if the gateway is a process of its own. */
export function readGatewayConfig(
  reader: SettingsReader,
  { edge, env, metricsPort = 9090 }: { edge: GatewayConfig['edge']; env: Environment; metricsPort?: number },
): GatewayConfig {
  const publicOrigin = readPublicOrigin(reader);
  return {
    host: reader.text('HOST'),
    port: reader.integer('PORT'),
    metricsPort: reader.computedInteger('DATAHUB_METRICS_PORT', metricsPort, [0, 65_535]),
    edge: reader.oneOf('DATAHUB_EDGE', edge),
    edgeVariables: env,
    edgeConfigPath: reader.text('DATAHUB_EDGE_CONFIG', defaultPipelinePath),
    ownWork: reader.flag('DATAHUB_OWN_WORK'),
    console: reader.flag('DATAHUB_CONSOLE'),
    corsOrigins: readOrigins(reader),
    publicOrigin,
    oidc: readOidc(reader, publicOrigin),
    oauth: readOAuth(reader, publicOrigin),
    compresses: reader.oneOf('DATAHUB_COMPRESSION') === 'on',
    ...readBodyBounds(reader),
    ...readResponseBounds(reader),
    requestTimeoutMs: reader.integer('DATAHUB_REQUEST_TIMEOUT_MS'),
    transferTimeoutMs: reader.integer('DATAHUB_TRANSFER_TIMEOUT_MS'),
    keyCacheMs: reader.integer('DATAHUB_KEY_CACHE_MS'),
    keyCacheAwayMs: reader.integer('DATAHUB_KEY_CACHE_AWAY_MS'),
    ratePerMinute: reader.integer('DATAHUB_RATE_PER_MINUTE'),
    unknownKeysPerMinute: reader.integer('DATAHUB_UNKNOWN_KEYS_PER_MINUTE'),
    trustedProxies: readTrustedProxies(reader),
    stallTimeoutMs: reader.integer('DATAHUB_STALL_TIMEOUT_MS'),
    drainMs: reader.integer('DATAHUB_DRAIN_MS'),
  };
}

/** The budgets must have room for at least one body of the largest size, and of all keys for two. */
function readBodyBounds(reader: SettingsReader) {
  const bodyBytesMax = reader.integer('DATAHUB_BODY_BYTES_MAX');
  const largeBodyBytesMax = reader.integer('DATAHUB_LARGE_BODY_BYTES_MAX');
  const largest = Math.max(bodyBytesMax, largeBodyBytesMax);
  const allMax = 4_294_967_296;
  return {
    bodyBytesMax,
    largeBodyBytesMax,
    keyBodiesBytesMax: reader.computedInteger('DATAHUB_KEY_BODIES_BYTES_MAX', 2 * largest, [largest, allMax]),
    bodiesBytesMax: reader.computedInteger('DATAHUB_BODIES_BYTES_MAX', 6 * largest, [2 * largest, allMax]),
  };
}

/** The budgets must have room for the largest list and document. A quarter of the total is for small responses only. */
function readResponseBounds(reader: SettingsReader) {
  return {
    keyResponsesBytesMax: reader.computedInteger('DATAHUB_KEY_RESPONSES_BYTES_MAX', 2 * largestResponse),
    responsesBytesMax: reader.computedInteger('DATAHUB_RESPONSES_BYTES_MAX', 4 * largestResponse),
  };
}

function readTrustedProxies(reader: SettingsReader): string[] {
  const entries = reader.list('DATAHUB_TRUSTED_PROXIES');
  for (const entry of entries) {
    if (isAddressRange(entry)) continue;
    reader.fault(
      `DATAHUB_TRUSTED_PROXIES must be a list of addresses or ranges such as 10.0.0.0/8; ${entry} is neither.`,
    );
  }
  return entries;
}

function readPublicOrigin(reader: SettingsReader): string | undefined {
  const origin = reader.text('DATAHUB_PUBLIC_ORIGIN', '');
  if (origin !== '' && !isOrigin(origin))
    reader.fault(`DATAHUB_PUBLIC_ORIGIN: ${origin} is not an origin. Write it as https://hub.example.`);
  return origin === '' ? undefined : origin;
}

/** Refuses an origin that no browser sends: they send it with its scheme and without a path. */
function readOrigins(reader: SettingsReader): string[] {
  const origins = reader.list('DATAHUB_CORS_ORIGINS', ['*']);
  for (const origin of origins) {
    if (origin === '*' || origin === 'null' || isOrigin(origin)) continue;
    reader.fault(`DATAHUB_CORS_ORIGINS: ${origin} is not an origin. Write it as https://app.example.`);
  }
  return origins;
}
