/** Optimistic locking: a change applies only to a version that its caller has read. */

import { HubError } from './error.ts';

export interface Expected {
  /** Undefined accepts any version. */
  expectedVersion?: number | undefined;
  /** Further versions to accept. */
  moreVersions?: readonly number[] | undefined;
}

/** Throws VERSION_MISMATCH if the document has none of the expected versions. */
export function requireVersion(doc: { version: number }, { expectedVersion, moreVersions }: Expected): void {
  if (expectedVersion === undefined || expectedVersion === doc.version) return;
  if (moreVersions?.includes(doc.version)) return;
  throw new HubError(
    'VERSION_MISMATCH',
    'The resource has changed since you read it. Read it again, then repeat the change.',
  );
}
