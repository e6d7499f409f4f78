/**
 * The form of the answer of `POST /mcp` that a client accepts, as RFC 9110 reads `Accept`. The SDK only looks for the
 * words of two media types, so it refuses wildcards, other letters and clients that accept one of both.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { readWeights } from '../http/weights.ts';

const json = 'application/json';
const events = 'text/event-stream';

export type Accepted = typeof json | typeof events | 'both';

/** Answers of the SDK always have one of these types. */
export const sdkAccept = `${json}, ${events}`;

export function acceptedOf(accept: string | undefined): Accepted {
  if (accept === undefined || accept.trim() === '') return 'both';
  const wishes = readWeights(accept);
  // The most specific range decides.
  const isAccepted = (type: string) => {
    const wish = wishes.get(type) ?? wishes.get(`${type.split('/', 1)[0]}/*`) ?? wishes.get('*/*');
    return wish !== undefined && wish.weight > 0;
  };
  if (isAccepted(json)) return isAccepted(events) ? 'both' : json;
  if (isAccepted(events)) return events;
  throw new HubError('NOT_ACCEPTABLE', `Answers come as ${json} or ${events}.`);
}

/** Writes the answer in the accepted form. Each event has one message in one line. */
export function toAccepted(
  { text, contentType }: { text: string; contentType: string | null },
  accepted: Accepted,
): { text: string; contentType: string | null } {
  const isEvents = contentType?.startsWith(events) === true;
  if (accepted === json && isEvents) {
    const messages = text.split('\n').flatMap((line) => /^data: ?(.+)$/.exec(line)?.[1] ?? []);
    return { text: messages.at(-1) ?? '', contentType: json };
  }
  if (accepted === events && contentType?.startsWith(json) === true)
    return { text: `event: message\ndata: ${text}\n\n`, contentType: events };
  return { text, contentType };
}
