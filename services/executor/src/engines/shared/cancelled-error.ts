/** The error of a statement that was cancelled while it sent rows. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Statement } from '../../ports/engine.ts';

/**
 * Rows that arrive after the cancel are dropped, so the answer is incomplete even if the statement succeeded. Whether a
 * write was carried out is then unknown.
 */
export function rowsLeftError(kind: Statement['kind']): HubError {
  if (kind === 'read') return new HubError('CANCELLED', 'The statement was cancelled.');
  return new HubError('SOURCE_BROKEN', 'The answer of the source was not read to its end.', {
    retryable: false,
  });
}
