/** ETags of documents that clients cache and revalidate each time. */

import { hash } from 'node:crypto';

export const withETag = (bytes: Buffer) => ({
  bytes,
  etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`,
});

/** True if the client has the document, in any coding. Compares weakly (RFC 9110, 13.1.2). */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '')
    .split(',')
    .map((one) => one.trim().replace(/^W\/|-(zstd|br|gzip)(?="$)/g, ''));
  return known.includes(etag) || known.includes('*');
}
