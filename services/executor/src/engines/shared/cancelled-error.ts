/** What is left of a statement that was stopped. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Statement } from '../../engine.ts';

/**
 * Rows that came after the stop went nowhere, so what is left is no answer, however well the statement ended. A write
 * has then been carried out, or not: only its rows would have told.
 */
export function rowsLeftError(kind: Statement['kind']): HubError {
  if (kind === 'read') return new HubError('CANCELLED', 'The statement was stopped.');
  return new HubError('SOURCE_BROKEN', 'The answer of the source was not read to its end.', {
    retryable: false,
  });
}
