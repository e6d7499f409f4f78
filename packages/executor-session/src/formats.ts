/** The formats of rows in messages. A format that `proto` does not list does not compile. */

import {
  type CsvDelimiter,
  type CsvOptions,
  csvDelimiters,
  type FormatName,
  formatNames,
} from '@datahub/contract/formats';
import {
  Format,
  type CsvOptions as ProtoCsv,
  CsvDelimiter as ProtoDelimiter,
} from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';

export const toProtoFormat = (name: FormatName): Format =>
  Format[`FORMAT_${name.toUpperCase() as Uppercase<FormatName>}`];

const names = new Map<Format, FormatName>(formatNames.map((name) => [toProtoFormat(name), name]));

/** JSON if the message names no format. Throws OPTION_REFUSED for a format that this version does not know. */
export function fromProtoFormat(format: Format): FormatName {
  const name = format === Format.FORMAT_UNSPECIFIED ? 'json' : names.get(format);
  if (name !== undefined) return name;
  throw new HubError('OPTION_REFUSED', `The format ${format} is unknown.`, {
    stage: 'prepare',
    retryable: false,
  });
}

const delimiters: Record<CsvDelimiter, ProtoDelimiter> = {
  ',': ProtoDelimiter.CSV_DELIMITER_UNSPECIFIED,
  ';': ProtoDelimiter.CSV_DELIMITER_SEMICOLON,
  '\t': ProtoDelimiter.CSV_DELIMITER_TAB,
};

export const toProtoCsv = ({ bom = false, delimiter = ',', decimal }: CsvOptions): ProtoCsv => ({
  bom,
  delimiter: delimiters[delimiter],
  decimalComma: decimal === ',',
});

/** Throws OPTION_REFUSED for a delimiter that this version does not know. */
export function fromProtoCsv({ bom, delimiter: sent, decimalComma }: ProtoCsv): Required<CsvOptions> {
  const delimiter = csvDelimiters.find((one) => delimiters[one] === sent);
  if (delimiter !== undefined) return { bom, delimiter, decimal: decimalComma ? ',' : '.' };
  throw new HubError('OPTION_REFUSED', `The delimiter ${sent} is unknown.`, {
    stage: 'prepare',
    retryable: false,
  });
}
