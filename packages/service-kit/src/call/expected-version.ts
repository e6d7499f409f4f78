/** Changes that are to happen only on a version that their caller has seen. */

import { HubError } from './error.ts';

export interface Expected {
  /** Undefined where any version will do. */
  expectedVersion?: number | undefined;
  /** Others that will do as well. */
  moreVersions?: readonly number[] | undefined;
}

/** Throws VERSION_MISMATCH where other versions than the document's are expected. */
export function requireVersion(doc: { version: number }, { expectedVersion, moreVersions }: Expected): void {
  if (expectedVersion === undefined || expectedVersion === doc.version) return;
  if (moreVersions?.includes(doc.version)) return;
  throw new HubError(
    'VERSION_MISMATCH',
    'It was changed since it was read. Read it again, then repeat the change.',
  );
}
