/** `If-Match` (RFC 9110, 13.1.1): the versions of a document that the caller allows to be changed. */

import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';

export interface ExpectedVersions {
  /** Undefined if the caller allows any version. */
  expectedVersion: number | undefined;
  moreVersions: number[];
}

/** One element of the list, which may be empty, and its separator. A comma in quotes does not separate. */
const element = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\uffff]*)"[ \t]*)?(?:,|$)/y;
/** The version in an ETag of the hub. */
const version = /^[1-9]\d{0,9}$/;
const versionMax = 4_294_967_295;
/** No document has this version. */
const noVersion = 0;

/**
 * Weak ETags, and ETags that the hub never wrote, match no document. The service compares the versions, so that the
 * answer for a document that does not exist is 404.
 */
export function expectedVersions(request: Pick<FastifyRequest, 'headers'>): ExpectedVersions {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return { expectedVersion: undefined, moreVersions: [] };
  const [expectedVersion = noVersion, ...moreVersions] = new Set(readTags(header));
  return { expectedVersion, moreVersions };
}

function readTags(header: string): number[] {
  const versions: number[] = [];
  let tags = 0;
  element.lastIndex = 0;
  while (element.lastIndex < header.length) {
    const found = element.exec(header);
    if (found === null) throw malformed();
    const [, weak, tag] = found;
    if (tag === undefined) continue;
    tags++;
    if (weak === undefined && version.test(tag) && Number(tag) <= versionMax) versions.push(Number(tag));
  }
  if (tags === 0) throw malformed();
  return versions;
}

function malformed(): HubError {
  const message = 'If-Match must be * or a list of ETags from the hub, such as "3" or "3", "4".';
  return new HubError('VERSION_MISMATCH', message);
}
