/** Bounds the elements of arrays and documents in a row, which is converted in one piece, however few bytes they have. */

import { HubError } from '@datahub/service-kit/call/error';
import type { ByteWriter } from './primitives.ts';

export const elementsMax = 500_000;

/** Throws RESULT_TOO_LARGE for more than a row may have. */
export function countElement(out: ByteWriter): void {
  if (++out.elements > elementsMax) throw tooManyElements();
}

export const tooManyElements = () =>
  new HubError(
    'RESULT_TOO_LARGE',
    `The arrays and documents of a row have more than ${elementsMax} elements. Select them as rows, for example with unnest() or $unwind.`,
    { retryable: false },
  );
