/** Bounds on what a server may send, and what is said where it sends more. */

import { HubError } from '@datahub/service-kit/call/error';

export const defaultRowBytesMax = 16 * 1_048_576;

/** Far more than any greeting, and far less than a server could send within the time for a log-in. */
export const logInBytesMax = 262_144;

/** What a server may say unasked between two statements: settings that changed, notices, notifications. */
export const unaskedBytesMax = 1_048_576;

/** Answers to the hub's own questions: types, tables and columns. */
export const ownAnswerBytesMax = 8 * 1_048_576;

/** Permanent, so not a broken connection, although it ends one: what is left of the row would have to be read. */
export function rowTooLargeError(bytesMax: number): HubError {
  const mebibytes = Math.floor(bytesMax / 1_048_576);
  return new HubError(
    'SQL_REJECTED',
    `A row of the answer is larger than ${mebibytes} MiB, the most that the hub takes. Select less of it, or have DATAHUB_ROW_BYTES_MAX raised.`,
    { retryable: false },
  );
}
