/** Settings shared by all services behind gRPC: where they listen, where the others are, and how callers authenticate. */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials, ServerCredentials } from '@grpc/grpc-js';
import type { SettingsReader } from '../settings/settings.ts';
import type { ListName, SettingName } from '../settings/settings-table.ts';

const addressPattern = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/;

/** How a service authenticates to the others. */
export interface CallerSettings {
  /** The token that this service sends. */
  serviceToken: string | undefined;
  /** The tokens that this service accepts; two while a token is being replaced. */
  serviceTokens: string[];
  tls: { ca: Buffer; cert: Buffer; key: Buffer } | undefined;
}

export interface GrpcSettings extends CallerSettings {
  host: string;
  /** 0 for any free port. */
  port: number;
  /** Whether anyone who reaches the port may list its services. */
  reflection: boolean;
  /** How long calls in flight may continue after SIGTERM. */
  drainMs: number;
}

export function readGrpcSettings(reader: SettingsReader, options: { portDefault: number }): GrpcSettings {
  return {
    ...readCallerSettings(reader),
    host: reader.text('HOST'),
    port: reader.computedInteger('DATAHUB_GRPC_PORT', options.portDefault, [0, 65_535]),
    reflection: reader.flag('DATAHUB_GRPC_REFLECTION'),
    drainMs: reader.integer('DATAHUB_DRAIN_MS'),
  };
}

/** Internal ports always authenticate their callers: by a token of at least 32 characters, mutual TLS, or both. */
export function readCallerSettings(reader: SettingsReader): CallerSettings {
  const serviceTokens = reader.list('DATAHUB_SERVICE_TOKEN');
  const [serviceToken] = serviceTokens;
  const tls = readTls(reader);
  if (serviceToken === undefined && tls === undefined) {
    reader.fault(
      'Set DATAHUB_SERVICE_TOKEN, or DATAHUB_TLS_CA, DATAHUB_TLS_CERT and DATAHUB_TLS_KEY: separate services must authenticate each other.',
    );
  }
  if (serviceTokens.some((token) => token.length < 32)) {
    reader.fault('DATAHUB_SERVICE_TOKEN must have at least 32 characters.');
  }
  // Headers cannot carry other characters: the first call would fail.
  if (serviceTokens.some((token) => !/^[!-~]*$/.test(token))) {
    reader.fault('DATAHUB_SERVICE_TOKEN must consist of visible ASCII characters.');
  }
  return { serviceToken, serviceTokens, tls };
}

function readTls(reader: SettingsReader): CallerSettings['tls'] {
  const paths = { ca: 'DATAHUB_TLS_CA', cert: 'DATAHUB_TLS_CERT', key: 'DATAHUB_TLS_KEY' } as const;
  const given = Object.values(paths).filter((name) => reader.optional(name) !== undefined);
  if (given.length === 0) return undefined;
  const read = (name: SettingName) => {
    const path = reader.required(name, 'mutual TLS needs a CA, a certificate and its key, each in a file.');
    if (path === '') return Buffer.alloc(0);
    try {
      return readFileSync(path);
    } catch {
      reader.fault(`${name} names a file that cannot be read.`);
      return Buffer.alloc(0);
    }
  };
  const tls = { ca: read(paths.ca), cert: read(paths.cert), key: read(paths.key) };
  if (Object.values(tls).every((file) => file.length > 0)) {
    const fault = checkTls(tls);
    if (fault !== undefined) reader.fault(`${Object.values(paths).join(', ')}: ${fault}`);
  }
  return tls;
}

/** Has OpenSSL load the files. Its messages contain nothing from them. */
function checkTls(tls: { ca: Buffer; cert: Buffer; key: Buffer }): string | undefined {
  try {
    createSecureContext(tls);
    return undefined;
  } catch (err) {
    return `the CA, the certificate and the key are invalid or do not match (${(err as Error).message}).`;
  }
}

/** The addresses of another service: `host:port`, separated by commas. */
export function readAddresses(reader: SettingsReader, name: ListName, fallback: string[]): string[] {
  const addresses = reader.list(name, fallback);
  for (const address of addresses) {
    if (!addressPattern.test(address)) reader.fault(`${name} must be host:port, but has "${address}".`);
  }
  return addresses;
}

export function serverCredentialsOf({ tls }: CallerSettings): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(tls.ca, [{ cert_chain: tls.cert, private_key: tls.key }], true);
}

export function clientCredentialsOf({ tls }: CallerSettings): ChannelCredentials {
  return tls === undefined ? credentials.createInsecure() : credentials.createSsl(tls.ca, tls.key, tls.cert);
}
