/** Settings shared by all services behind gRPC: where they listen, where the others are, and how callers authenticate. */

import { type ChannelCredentials, credentials, experimental, ServerCredentials } from '@grpc/grpc-js';
import type { SettingsReader } from '../settings/settings.ts';
import type { ListName, SettingName } from '../settings/settings-table.ts';
import { CertificateFiles, readNow } from './certificates.ts';

const addressPattern = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/;

/** How a service authenticates to the others. */
export interface CallerSettings {
  /** The token that this service sends. */
  serviceToken: string | undefined;
  /** The tokens that this service accepts; two while a token is being replaced. */
  serviceTokens: string[];
  tls: CertificateFiles | undefined;
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
  if (serviceToken === undefined && !namesTls(reader)) {
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

const tlsNames = { ca: 'DATAHUB_TLS_CA', cert: 'DATAHUB_TLS_CERT', key: 'DATAHUB_TLS_KEY' } as const;
const namesTls = (reader: SettingsReader) =>
  Object.values(tlsNames).some((name) => reader.optional(name) !== undefined);

function readTls(reader: SettingsReader): CallerSettings['tls'] {
  if (!namesTls(reader)) return undefined;
  const names = tlsNames;
  const find = (name: SettingName) =>
    reader.required(name, 'mutual TLS needs a CA, a certificate and its key, each in a file.');
  const paths = { ca: find(names.ca), cert: find(names.cert), key: find(names.key) };
  const read = (part: keyof typeof paths) => {
    const content = paths[part] === '' ? Buffer.alloc(0) : readNow(paths[part]);
    if (paths[part] !== '' && content.length === 0)
      reader.fault(`${names[part]} names a file that is empty or cannot be read.`);
    return content;
  };
  const contents = { ca: read('ca'), cert: read('cert'), key: read('key') };
  if (Object.values(contents).some((content) => content.length === 0)) return undefined;
  try {
    return new CertificateFiles(paths, contents);
  } catch (err) {
    reader.fault(`${Object.values(names).join(', ')}: ${(err as Error).message}`);
    return undefined;
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
  return experimental.createCertificateProviderServerCredentials(tls, tls, true);
}

export function clientCredentialsOf({ tls }: CallerSettings): ChannelCredentials {
  return tls === undefined
    ? credentials.createInsecure()
    : experimental.createCertificateProviderChannelCredentials(tls, tls);
}
