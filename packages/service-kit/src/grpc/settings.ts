/** Settings that every service behind gRPC shares: where it listens, where the others are, and how callers prove who they are. */

import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials, ServerCredentials } from '@grpc/grpc-js';
import type { SettingsReader } from '../process/settings.ts';

const addressShape = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/;

/** How a service shows itself to the others. */
export interface CallerSettings {
  /** Shown to other services. */
  serviceToken: string | undefined;
  /** Asked of callers: while a token is changed, the old one as well. */
  serviceTokens: string[];
  tls: { ca: Buffer; cert: Buffer; key: Buffer } | undefined;
}

export interface GrpcSettings extends CallerSettings {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Whether anybody who reaches the port may ask what it offers. */
  reflection: boolean;
  /** How long calls under way may go on after SIGTERM. */
  drainMs: number;
}

export function readGrpcSettings(reader: SettingsReader, options: { portDefault: number }): GrpcSettings {
  return {
    ...readCallerSettings(reader),
    host: reader.text('HOST', '127.0.0.1'),
    port: reader.integer('DATAHUB_GRPC_PORT', { fallback: options.portDefault, min: 0, max: 65_535 }),
    reflection: reader.flag('DATAHUB_GRPC_REFLECTION', false),
    drainMs: reader.integer('DATAHUB_DRAIN_MS', { fallback: 25_000, min: 0, max: 600_000 }),
  };
}

/** Inner ports always authenticate their callers: by a token of at least 32 characters, by mutual TLS, or by both. */
export function readCallerSettings(reader: SettingsReader): CallerSettings {
  const serviceTokens = reader.list('DATAHUB_SERVICE_TOKEN', []);
  const [serviceToken] = serviceTokens;
  const tls = readTls(reader);
  if (serviceToken === undefined && tls === undefined) {
    reader.fault(
      'DATAHUB_SERVICE_TOKEN is not set, nor DATAHUB_TLS_CA, DATAHUB_TLS_CERT and DATAHUB_TLS_KEY: services that run apart must know each other.',
    );
  }
  if (serviceTokens.some((token) => token.length < 32)) {
    reader.fault('DATAHUB_SERVICE_TOKEN must have at least 32 characters.');
  }
  // It travels in a header, which refuses others at the first call.
  if (serviceTokens.some((token) => !/^[!-~]*$/.test(token))) {
    reader.fault('DATAHUB_SERVICE_TOKEN must have visible ASCII characters only.');
  }
  return { serviceToken, serviceTokens, tls };
}

function readTls(reader: SettingsReader): CallerSettings['tls'] {
  const paths = { ca: 'DATAHUB_TLS_CA', cert: 'DATAHUB_TLS_CERT', key: 'DATAHUB_TLS_KEY' };
  const given = Object.values(paths).filter((name) => reader.optional(name) !== undefined);
  if (given.length === 0) return undefined;
  const read = (name: string) => {
    const path = reader.required(name, 'mutual TLS needs a CA, a certificate and its key, each as a file.');
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
    const fault = faultOfTls(tls);
    if (fault !== undefined) reader.fault(`${Object.values(paths).join(', ')}: ${fault}`);
  }
  return tls;
}

/** Asked of OpenSSL at the start, whose words hold nothing of the files. */
function faultOfTls(tls: { ca: Buffer; cert: Buffer; key: Buffer }): string | undefined {
  try {
    createSecureContext(tls);
    return undefined;
  } catch (err) {
    return `they are no CA, certificate and key that go together (${(err as Error).message}).`;
  }
}

/** Where another service listens: `host:port`, several by commas. */
export function readAddresses(reader: SettingsReader, name: string, fallback: string[]): string[] {
  const addresses = reader.list(name, fallback);
  for (const address of addresses) {
    if (!addressShape.test(address)) reader.fault(`${name} must be host:port, and "${address}" is not.`);
  }
  return addresses;
}

/** The same for clients of `targetOf`, which looks up one name and takes several addresses as they are. */
export function readTargets(reader: SettingsReader, name: string, fallback: string[]): string[] {
  const addresses = readAddresses(reader, name, fallback);
  const named = addresses.filter((address) => !isIPv4(address.replace(/:\d+$/, '')));
  if (addresses.length > 1 && named.length > 0) {
    reader.fault(`${name}: several must be IPv4 addresses; one name stands for all that it resolves to.`);
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
