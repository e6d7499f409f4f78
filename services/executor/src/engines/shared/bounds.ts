/** Limits on what a server may send, and the error for a row that exceeds its limit. */

import { HubError } from '@datahub/service-kit/call/error';
import { settings } from '@datahub/service-kit/settings/settings-table';

export const defaultRowBytesMax = settings.DATAHUB_ROW_BYTES_MAX.fallback;

/** Far more than any server needs for a log-in. */
export const logInBytesMax = 262_144;

/** What a server may send between two statements: changed settings, notices, notifications. */
export const unaskedBytesMax = 1_048_576;

/** Results of the hub's own queries for types, tables and columns. 50,000 columns take about ten megabytes. */
const ownAnswerBytesMax = 12 * 1_048_576;

/**
 * What a message or a row counts beside its bytes against these limits. An empty row takes 7 bytes on the wire, and more
 * than this in memory.
 */
export const pieceBytes = 32;

/** Closes the connection, since the rest of the row would have to be read. Not SOURCE_BROKEN, since a retry would fail too. */
export class RowTooLarge extends HubError {
  constructor(bytesMax: number) {
    const mebibytes = Math.floor(bytesMax / 1_048_576);
    super(
      'SQL_REJECTED',
      `A row of the answer is larger than the limit of ${mebibytes} MiB. Select fewer or smaller columns, or raise DATAHUB_ROW_BYTES_MAX.`,
      { retryable: false },
    );
  }
}

/** Throws for an answer to a query of the hub that has so many bytes by now. The connection closes with this error. */
export function requireOwnAnswer(bytes: number): void {
  if (bytes <= ownAnswerBytesMax) return;
  throw new HubError(
    'SQL_REJECTED',
    'The database names more tables and columns than the hub reads. Let the user of the source see fewer of them.',
    { retryable: false },
  );
}
