/**
 * Node accepts one connection in each turn of the event loop. If it also handled a request in each of them, a new
 * connection would wait for the work of all that were opened before it. So while connections arrive, requests wait, until
 * they are many; then they start in turns, and those of one key do not delay those of others.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** A turn without a new connection starts this many. */
const startedMax = 8;
/** While connections arrive, each turn starts one request for this many that wait. */
const waitingPerStart = 256;
/** The first request of a connection arrives in the turn after it. */
const turnsAfterConnection = 2;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

export interface RequestTurns {
  /** For the event `connection`. */
  connected(): void;
  /** For the event `request`. */
  handle: RequestListener;
}

export function createRequestTurns(listener: RequestListener): RequestTurns {
  /** By key. The first lane has waited longest. */
  const lanes = new Map<string, Exchange[]>();
  let waiting = 0;
  let turnsToWait = 0;
  let isScheduled = false;

  const schedule = (): void => {
    if (!isScheduled) setImmediate(endTurn);
    isScheduled = true;
  };

  const endTurn = (): void => {
    isScheduled = false;
    if (turnsToWait > 0) turnsToWait--;
    const count = turnsToWait > 0 ? Math.floor(waiting / waitingPerStart) : startedMax;
    for (let i = 0; i < count && waiting > 0; i++) startNext();
    if (waiting > 0 || turnsToWait > 0) schedule();
  };

  const startNext = (): void => {
    const [first] = lanes;
    if (first === undefined) return;
    const [key, lane] = first;
    const exchange = lane.shift();
    lanes.delete(key);
    if (lane.length > 0) lanes.set(key, lane);
    waiting--;
    if (exchange !== undefined && !exchange.response.destroyed) listener(exchange.request, exchange.response);
  };

  return {
    connected: () => {
      turnsToWait = turnsAfterConnection;
      schedule();
    },
    handle: (request, response) => {
      if (turnsToWait === 0 && waiting === 0) {
        listener(request, response);
        return;
      }
      const key = String(request.headers['x-service-api-key'] ?? request.headers.authorization ?? '');
      const lane = lanes.get(key) ?? [];
      lane.push({ request, response });
      lanes.set(key, lane);
      waiting++;
      schedule();
    },
  };
}
