/**
 * Bounds the memory of answers. The bytes of an answer count against the budget of responses as they are written, and what
 * they are written from takes several times as much. So few lists, and not many documents, are made at a time, and
 * accounts take turns.
 */

import { createPlaces } from '../http/places.ts';
import { type Handler, placeOf, type Route } from '../http/route.ts';

/** In one gateway. A list has up to 32 MiB, a document about one. */
const bounds = {
  list: { allMax: 6, accountMax: 2, waitingMax: 200 },
  document: { allMax: 48, accountMax: 24, waitingMax: 2_000 },
};

/** Returns a function that makes handlers wait for a place. They answer 429 if too many of the account wait. */
export function createAnswerPlaces(): (route: Route) => Handler {
  const places = {
    list: createPlaces(bounds.list, tooMany('lists', bounds.list.waitingMax)),
    document: createPlaces(bounds.document, tooMany('documents', bounds.document.waitingMax)),
  };
  return (route) => {
    const kind = placeOf(route);
    if (kind === undefined) return route.handler;
    const takePlace = places[kind];
    return async (request, reply) => {
      using place = await takePlace(request.context);
      // Nobody waits for the client, so the place ends before the answer is sent. Its bytes are counted by then.
      request.context.leavePlace = () => place[Symbol.dispose]();
      return await route.handler(request, reply);
    };
  };
}

const tooMany = (what: string, waitingMax: number) =>
  `${waitingMax} ${what} of this account are waiting. Try again later.`;
