/**
 * Certificates that are costly to read. OpenSSL decodes the key of each certificate on the main thread, also of one that
 * nobody trusts: a compressed point, or the parameters of a curve of one's own, take up to 140 ms each. No authority
 * issues such certificates.
 */

import { keyNames, pemOf, tags, wholePoint } from './der.ts';

const ecName = Buffer.from(keyNames.ec, 'hex');
/** Longer than the longest OID of a curve. */
const curveBytesMax = 16;

/** Whether a key in this DER is costly to read. The DER may be that of several certificates. */
export function hasCostlyKey(der: Buffer): boolean {
  for (let at = der.indexOf(ecName); at >= 0; at = der.indexOf(ecName, at + 1)) {
    if (!isNamedCurve(der, at + ecName.length)) return true;
  }
  return false;
}

/** The name of a curve follows, and a point of it with both coordinates. */
function isNamedCurve(der: Buffer, at: number): boolean {
  const curveBytes = der[at + 1] ?? 0;
  if (der[at] !== tags.oid || curveBytes > curveBytesMax) return false;
  const point = at + 2 + curveBytes;
  if (der[point] !== tags.bitString) return false;
  // The length takes a second byte from 128 on. Then come the unused bits, and the form of the point.
  const content = der[point + 1] === 0x81 ? point + 3 : point + 2;
  return der[content] === 0 && der[content + 1] === wholePoint;
}

const block = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END /g;

/** The certificates in this PEM, without anything else. Undefined if there are none, or if one is costly. */
export function usableCertificates(pem: string): string | undefined {
  const ders = [...pem.matchAll(block)].map(([, body = '']) => Buffer.from(body, 'base64'));
  if (ders.length === 0 || ders.some(hasCostlyKey)) return undefined;
  return ders.map((der) => pemOf('CERTIFICATE', der)).join('');
}
