/** The files of mutual TLS, which are read again when they change, so that a renewed certificate needs no restart. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { experimental } from '@grpc/grpc-js';
import type { Logger } from '../telemetry/logger.ts';

type Part = 'ca' | 'cert' | 'key';
type Paths = Record<Part, string>;
type Contents = Record<Part, Buffer>;
type CertificateProvider = experimental.CertificateProvider;
type CaListener = Parameters<CertificateProvider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<CertificateProvider['addIdentityCertificateListener']>[0];

const parts = ['ca', 'cert', 'key'] as const;
/** A file is also complete, and matches the others, at the second look if it was being written at the first. */
const readEveryMsDefault = 5_000;
const certificateText = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Connections that are open keep the certificates that they began with. */
export class CertificateFiles implements CertificateProvider {
  readonly #paths: Paths;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  #contents: Contents;
  #logger: Logger | undefined;
  #timer: NodeJS.Timeout | undefined;
  #fault: string | undefined;

  readonly #readEveryMs: number;

  /** Throws with the fault if the files are invalid or do not match. `contents` is what the paths have now. */
  constructor(paths: Paths, contents: Contents, readEveryMs = readEveryMsDefault) {
    check(contents);
    this.#paths = paths;
    this.#contents = contents;
    this.#readEveryMs = readEveryMs;
  }

  /** Logs renewed certificates, and files that cannot be used. */
  logTo(logger: Logger): void {
    this.#logger = logger;
  }

  // grpc-js registers its server behind this call, so the listener is called later.
  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    queueMicrotask(() => listener({ caCertificate: this.#contents.ca }));
    this.#follow();
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#follow();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    queueMicrotask(() => listener({ certificate: this.#contents.cert, privateKey: this.#contents.key }));
    this.#follow();
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#follow();
  }

  /** When certificates end, in Prometheus' text format. */
  metrics(): string {
    const ends = endsOf(this.#contents);
    return [
      '# TYPE datahub_certificate_not_after_seconds gauge',
      ...Object.entries(ends).map(
        ([kind, at]) => `datahub_certificate_not_after_seconds{kind="${kind}"} ${at / 1_000}`,
      ),
      '',
    ].join('\n');
  }

  /** Reads the files while someone uses them. */
  #follow(): void {
    const isUsed = this.#caListeners.size + this.#identityListeners.size > 0;
    if (!isUsed) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (isUsed && this.#timer === undefined) this.#readLater();
  }

  #readLater(): void {
    this.#timer = setTimeout(async () => {
      await this.#read();
      if (this.#timer !== undefined) this.#readLater();
    }, this.#readEveryMs);
    this.#timer.unref();
  }

  async #read(): Promise<void> {
    try {
      const read = await Promise.all(parts.map((part) => readFile(this.#paths[part])));
      const [ca, cert, key] = read as [Buffer, Buffer, Buffer];
      const contents = { ca, cert, key };
      if (parts.every((part) => contents[part].equals(this.#contents[part]))) {
        this.#fault = undefined;
        return;
      }
      check(contents);
      this.#contents = contents;
      this.#fault = undefined;
      for (const listener of this.#caListeners) listener({ caCertificate: ca });
      for (const listener of this.#identityListeners) listener({ certificate: cert, privateKey: key });
      const until = new Date(endsOf(contents).certificate ?? 0).toISOString();
      this.#logger?.info({ event: 'certificates.renewed', until }, 'certificates were read again');
    } catch (err) {
      const { message } = err as Error;
      // Once for each fault: the files stay as they are until someone corrects them.
      if (message !== this.#fault)
        this.#logger?.error({ event: 'certificates.unusable', err }, 'the previous certificates stay in use');
      this.#fault = message;
    }
  }
}

/** Has OpenSSL load the files. Its messages contain nothing from them. */
function check(contents: Contents): void {
  try {
    createSecureContext(contents);
    endsOf(contents);
  } catch (err) {
    const { message } = err as Error;
    throw new Error(`the CA, the certificate and the key are invalid or do not match (${message}).`);
  }
}

/**
 * Of the certificate and its chain, the earliest end counts; of several CAs the latest, because an old one remains in the
 * file while certificates are moved to a new one.
 */
function endsOf({ ca, cert }: Contents): { ca?: number; certificate?: number } {
  const ends = (file: Buffer) =>
    (file.toString('latin1').match(certificateText) ?? []).map((text) =>
      Date.parse(new X509Certificate(text).validTo),
    );
  const [authorities, chain] = [ends(ca), ends(cert)];
  return {
    ...(authorities.length > 0 ? { ca: Math.max(...authorities) } : {}),
    ...(chain.length > 0 ? { certificate: Math.min(...chain) } : {}),
  };
}

/** Empty if the file cannot be read. */
export function readNow(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
