/** The formats of rows in messages. A format that `proto` does not list does not compile. */

import { type FormatName, formatNames } from '@datahub/contract/formats';
import { Format } from '@datahub/proto/executor/v1/executor';
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
