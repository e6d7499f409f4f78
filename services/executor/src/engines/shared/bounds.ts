/** Limits on what a server may send, and the error for a row that exceeds its limit. */

import { HubError } from '@datahub/service-kit/call/error';
import { settings } from '@datahub/service-kit/settings/settings-table';

export const defaultRowBytesMax = settings.DATAHUB_ROW_BYTES_MAX.fallback;

/** Far more than any server needs for a log-in. */
export const logInBytesMax = 262_144;

/** What a server may send between two statements: changed settings, notices, notifications. */
export const unaskedBytesMax = 1_048_576;

/** The answer to a query of the hub, such as one about the types and tables of a statement. */
export const ownAnswerBytesMax = 1_048_576;
/** Of all tables. 50,000 columns take about 17 megabytes. */
export const schemaBytesMax = 24 * 1_048_576;

/**
 * What a message or a row counts beside its bytes against these limits. An empty row takes 7 bytes on the wire, and more
 * than this in memory.
 */
export const pieceBytes = 32;
/** What a field of a row counts beside its bytes. A NULL takes one byte on MySQL's wire. */
const fieldBytes = 24;

/** What the hub keeps of the answer to a query of its own. */
export class OwnAnswer {
  #bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isHalfFull(): boolean {
    return this.#bytes > this.#bytesMax / 2;
  }

  /** Counts a piece. The connection closes with the error that this throws if there are too many. */
  add(bytes: number, fields = 0): void {
    this.#bytes += bytes + pieceBytes + fields * fieldBytes;
    if (this.#bytes <= this.#bytesMax) return;
    throw new HubError(
      'SQL_REJECTED',
      'The database names more types, tables and columns than the hub reads. Let the user of the source see fewer of them.',
      { retryable: false },
    );
  }
}

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
