/** Bounds the elements of arrays and documents in a row, which is converted in one piece, however few bytes they have. */

import { HubError } from '@datahub/service-kit/call/error';
import type { ByteWriter } from './primitives.ts';

export const elementsMax = 500_000;

/** Throws RESULT_TOO_LARGE for more than a row may have. `weight`: an element that takes longer counts as several. */
export function countElement(out: ByteWriter, weight: number): void {
  out.elements += weight;
  if (out.elements > elementsMax) throw tooManyElements();
}

export const tooManyElements = () =>
  new HubError(
    'RESULT_TOO_LARGE',
    `The arrays and documents of a row have more than ${elementsMax} elements (some types count as two to four). Select them as rows, for example with unnest() or $unwind.`,
    { retryable: false },
  );
