/** Changes that are to happen only on the version that their caller has seen. */

import { HubError } from './error.ts';

/** Throws VERSION_MISMATCH where another version than the document's is expected. */
export function requireVersion(doc: { version: number }, expectedVersion: number | undefined): void {
  if (expectedVersion === undefined || expectedVersion === doc.version) return;
  throw new HubError(
    'VERSION_MISMATCH',
    'It was changed since it was read. Read it again, then repeat the change.',
  );
}
