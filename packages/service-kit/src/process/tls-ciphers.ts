/** What clients and servers of TLS in this process agree to. */

import tls from 'node:tls';

/**
 * Refuses Diffie-Hellman over a prime, whose size the server chooses: an account names servers, and one with a prime of
 * 10,000 bits would block the process for 0.6 s with each handshake. Servers that offer it offer elliptic curves, too.
 */
export function refuseSlowKeyExchange(): void {
  tls.DEFAULT_CIPHERS = `${tls.DEFAULT_CIPHERS}:!DH`;
}
