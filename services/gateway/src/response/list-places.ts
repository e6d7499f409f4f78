/**
 * Bounds the memory of lists. The bytes of a list count against the budget of responses as they are written, and what
 * they are written from takes several times as much. So few lists are made at a time, and accounts take turns.
 */

import { createPlaces } from '../http/places.ts';
import type { Handler } from '../http/route.ts';

/** In one gateway. */
const places = { allMax: 6, accountMax: 2, waitingMax: 200 };

/** Returns a function that makes handlers of lists wait for a place. They answer 429 if too many of the account wait. */
export function createListPlaces(): (handler: Handler) => Handler {
  const takePlace = createPlaces(
    places,
    `${places.waitingMax} lists of this account are waiting. Try again later.`,
  );
  return (handler) => async (request, reply) => {
    using place = await takePlace(request.context);
    // Nobody waits for the client, so the place ends before the answer is sent. Its bytes are counted by then.
    request.context.leavePlace = () => place[Symbol.dispose]();
    return await handler(request, reply);
  };
}
