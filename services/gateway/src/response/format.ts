/** The formats of rows, and the choice of one by the header `Accept`. */

import { contentTypeOf, type FormatName, formatNames, formats } from '@datahub/contract/formats';
import { toProtoFormat } from '@datahub/executor-session/formats';
import type { Format } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { readWeights, type Weighted } from '../http/weights.ts';

export interface OutputFormat {
  name: FormatName;
  format: Format;
  contentType: string;
}

const byMediaType = new Map<string, OutputFormat>(
  formatNames.map((name) => [
    formats[name].mediaType,
    { name, format: toProtoFormat(name), contentType: contentTypeOf(name) },
  ]),
);
const json = byMediaType.get('application/json') as OutputFormat;

const lineFormats = new Map([...byMediaType].filter(([, { name }]) => name === 'json' || name === 'ndjson'));

const list = new Intl.ListFormat('en-GB', { type: 'disjunction' });
const mediaTypes = list.format(byMediaType.keys());
const textTypes = formatNames.filter((name) => formats[name].isText).map((name) => formats[name].mediaType);
const textMediaTypes = list.format(textTypes);

/** As `preferredFormat`. Throws NOT_ACCEPTABLE if `Accept` has none of the formats. */
export function chooseFormat(accept: string | undefined): OutputFormat {
  return preferredFormat(accept) ?? refuse(mediaTypes);
}

/** As `chooseFormat`, for an object in JSON that can also come in lines. */
export function chooseLines(accept: string | undefined): OutputFormat {
  return preferredFormat(accept, lineFormats) ?? refuse(list.format(lineFormats.keys()));
}

/** As `chooseFormat`, for texts that the gateway writes itself. */
export function chooseTextFormat(accept: string | undefined): OutputFormat {
  const format = chooseFormat(accept);
  return formats[format.name].isText ? format : refuse(textMediaTypes);
}

function refuse(mediaTypes: string): never {
  throw new HubError('NOT_ACCEPTABLE', `Answers come as ${mediaTypes}.`);
}

/**
 * The format with the highest weight in `Accept`; the first of equals. The most specific range sets a format's weight.
 */
export function preferredFormat(
  accept: string | undefined,
  among: ReadonlyMap<string, OutputFormat> = byMediaType,
): OutputFormat | undefined {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return json;
  const wishes = readWeights(accept);
  const wishOf = (type: string) =>
    wishes.get(type) ?? wishes.get(`${type.split('/', 1)[0]}/*`) ?? wishes.get('*/*');
  let best: (Weighted & { written: OutputFormat }) | undefined;
  for (const [type, written] of among) {
    const wish = wishOf(type);
    if (wish === undefined || !(wish.weight > (best?.weight ?? 0) || isSooner(wish, best))) continue;
    best = { ...wish, written };
  }
  return best?.written;
}

const isSooner = (wish: Weighted, best: Weighted | undefined): boolean =>
  best !== undefined && wish.weight === best.weight && wish.place < best.place;

/** The content of a response in OpenAPI that comes in all formats of texts. */
export const inTextFormats = (content: object): Record<string, object> =>
  Object.fromEntries(textTypes.map((type) => [type, content]));

/** The content of a response in OpenAPI that comes in all formats. */
export const inAllFormats = (content: object): Record<string, object> =>
  Object.fromEntries([...byMediaType.keys()].map((type) => [type, content]));
