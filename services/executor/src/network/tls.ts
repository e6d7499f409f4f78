/** TLS with sources. All engines use it for sessions and for the connections that cancel statements. */

import { constants, createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, TLSSocket } from 'node:tls';
import { HubError } from '@datahub/service-kit/call/error';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { ConnectSettings } from '../ports/engine.ts';
import type { ServerStream } from '../ports/server-stream.ts';
import { BoundedHandshake } from './bounded-handshake.ts';
import { usableCertificates } from './handshake/costly-certificates.ts';
import { usableKey } from './handshake/usable-keys.ts';

/**
 * Starts TLS on a connected socket. Checks the certificate chain in mode verify-full, and in mode require if a CA is
 * set; checks the configured host name in verify-full only. Rejects with SOURCE_TLS after destroying the socket.
 */
export async function startTls(
  socket: ServerStream,
  { host, tls }: Pick<ConnectSettings, 'host' | 'tls'>,
): Promise<TLSSocket> {
  const bounded = new BoundedHandshake(socket);
  const { ca = '', cert = '', key = '' } = tls;
  if (ca.length + cert.length + key.length > pemCharactersOfTurn) {
    // The socket may break meanwhile.
    bounded.on('error', () => {});
    await nextTurn(socket.accountId);
  }
  return await connectOver(bounded, { socket, host, tls });
}

/** Reading them takes a millisecond, and that of the longest 25. */
const pemCharactersOfTurn = 4_096;

function connectOver(
  bounded: BoundedHandshake,
  { socket, host, tls }: Pick<ConnectSettings, 'host' | 'tls'> & { socket: ServerStream },
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (err?: unknown) => {
      socket.destroy();
      reject(tlsError(err));
    };
    if (bounded.destroyed) return fail();
    const verifiesName = tls.mode === 'verify-full';
    const { localPort, accountId } = socket;
    try {
      const secure = connect(
        {
          socket: bounded,
          host,
          ...(isIP(host) ? {} : { servername: host }),
          rejectUnauthorized: verifiesName || (tls.mode === 'require' && tls.ca !== undefined),
          ...(verifiesName ? {} : { checkServerIdentity: () => undefined }),
          ...materialOf(tls),
          // Another handshake would be without these bounds.
          secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
        },
        () => {
          secure.off('error', fail).off('close', fail);
          bounded.lift();
          // By default it is that of the stream below, and a server that has closed would look connected.
          secure.allowHalfOpen = false;
          // TLS over a stream does not say the port.
          resolve(
            Object.defineProperties(secure, {
              localPort: { value: localPort },
              accountId: { value: accountId },
            }),
          );
        },
      );
      secure.once('error', fail).once('close', fail);
      secure.on('keylog', (line) => bounded.learn(line));
    } catch (err) {
      fail(err);
    }
  });
}

/** Throws SOURCE_TLS for a key or a certificate that is not valid, or that is costly. */
function materialOf({ ca, cert, key }: ConnectSettings['tls']): { ca?: string; cert?: string; key?: string } {
  const usable = <N extends string>(
    name: N,
    pem: string | undefined,
    read: (pem: string) => string | undefined,
  ) => {
    if (pem === undefined) return {};
    const value = read(pem);
    if (value === undefined) throw unusable(name);
    return { [name]: value };
  };
  return {
    ...usable('ca', ca, usableCertificates),
    ...usable('cert', cert, usableCertificates),
    ...usable('key', key, usableKey),
  };
}

const unusable = (name: string) =>
  new HubError(
    'SOURCE_TLS',
    name === 'key'
      ? 'TLS cannot be started with this tls.key: it must be a key in PEM without a passphrase, RSA of at most 4,096 bits, of a named elliptic curve, or Ed25519 or Ed448.'
      : `TLS cannot be started with this tls.${name}: it must be certificates in PEM, whose keys are RSA or of named elliptic curves.`,
    { stage: 'connect', retryable: false },
  );

/**
 * Hashes by the OID of the certificate's signature algorithm: RSA, then ECDSA. RFC 5929 replaces MD5 and SHA-1 with
 * SHA-256.
 */
const hashes: Record<string, string> = {
  '1.2.840.113549.1.1.4': 'sha256',
  '1.2.840.113549.1.1.5': 'sha256',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.1': 'sha256',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
};

/** Returns the channel binding `tls-server-end-point` (RFC 5929); undefined without TLS or with an unknown hash. */
export function endPointOf(socket: ServerStream): Buffer | undefined {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  const hash = hashes[certificate?.signatureAlgorithmOid ?? ''];
  if (certificate === undefined || hash === undefined) return undefined;
  return createHash(hash).update(certificate.raw).digest();
}

const unknownAuthority =
  'The certificate of the source is signed by an authority that the hub does not know. Set its CA as tls.ca.';
const badMaterial =
  'TLS cannot be started with this tls.ca, tls.cert and tls.key: one of them is not valid PEM, or the key does not match the certificate.';

const texts: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_HAS_EXPIRED: 'The certificate of the source has expired. Renew it on the server.',
  CERT_NOT_YET_VALID:
    'The certificate of the source is not valid yet. Check the clocks of the server and of the hub.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the source is for another host name. Use a host name that is in the certificate.',
};

/** Converts an error of TLS. The messages are the hub's own, because those of the library contain host names. */
export function tlsError(cause?: unknown): HubError {
  if (cause instanceof HubError) return cause;
  const { code = '' } = (cause ?? {}) as { code?: string };
  const text = texts[code] ?? (code.startsWith('ERR_OSSL') ? badMaterial : undefined);
  return new HubError(
    'SOURCE_TLS',
    text ?? 'TLS with the source failed. Check its engine, its port and its TLS settings.',
    {
      cause,
      stage: 'connect',
      retryable: false,
    },
  );
}

export function noTlsError(): HubError {
  return new HubError(
    'SOURCE_TLS',
    'The source does not support TLS. Turn TLS on at the source, or set a TLS mode that does not require it.',
    { stage: 'connect', retryable: false },
  );
}

/** Plain bytes before TLS starts would be read as if they had been encrypted (CVE-2021-23222). */
export function plainBytesError(): HubError {
  return new HubError(
    'SOURCE_TLS',
    'The source sent unencrypted bytes before TLS started. The connection may have been intercepted.',
    { stage: 'connect', retryable: false },
  );
}
