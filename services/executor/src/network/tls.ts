/** TLS with a source, the same for every engine, for sessions and for the side connections that cancel. */

import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { HubError } from '@datahub/service-kit/call/error';
import type { ConnectSettings } from '../engine.ts';

/**
 * Wraps a connected socket. The chain is checked in the mode verify-full, and in require where a CA is given for it; the
 * name, as it was configured, in verify-full only. Rejects with SOURCE_TLS; the socket is then destroyed.
 */
export function startTls(
  socket: Socket,
  { host, tls }: Pick<ConnectSettings, 'host' | 'tls'>,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (err?: unknown) => {
      socket.destroy();
      reject(tlsError(err));
    };
    const named = tls.mode === 'verify-full';
    try {
      const secure = connect(
        {
          socket,
          host,
          ...(isIP(host) ? {} : { servername: host }),
          rejectUnauthorized: named || (tls.mode === 'require' && tls.ca !== undefined),
          ...(named ? {} : { checkServerIdentity: () => undefined }),
          ...(tls.ca === undefined ? {} : { ca: tls.ca }),
          ...(tls.cert === undefined ? {} : { cert: tls.cert }),
          ...(tls.key === undefined ? {} : { key: tls.key }),
        },
        () => {
          secure.off('error', fail).off('close', fail);
          resolve(secure);
        },
      );
      secure.once('error', fail).once('close', fail);
    } catch (err) {
      fail(err);
    }
  });
}

const unknownAuthority =
  'The certificate of the source is from no authority that the hub knows. Give its CA as tls.ca.';
const badMaterial =
  'TLS cannot be started with this tls.ca, tls.cert and tls.key: one is no PEM text, or they do not fit each other.';

const texts: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_HAS_EXPIRED: 'The certificate of the source has expired. Renew it there.',
  CERT_NOT_YET_VALID: 'The certificate of the source is not valid yet. Check the clocks.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the source is for another name than this host. Use a name that it has.',
};

/** What TLS failed of, in our own words: those of the library hold names. */
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
    'The source offers no TLS. Turn it on there, or give it a mode of TLS that does without.',
    { stage: 'connect', retryable: false },
  );
}

/** Plain bytes beside the answer that starts TLS would be taken for the server's own (CVE-2021-23222). */
export function plainBytesError(): HubError {
  return new HubError(
    'SOURCE_TLS',
    'The source sent bytes in plain where only the start of TLS may come. Something may stand between it and the hub.',
    { stage: 'connect', retryable: false },
  );
}
