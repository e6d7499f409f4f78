/**
 * When requests start. Node would start all that it has read, and accept one connection in each turn of the event loop:
 * other clients would wait for all requests of a pipeline, and of thousands of connections that send one each, and a new
 * connection for the work of all that were opened before it. So the requests of a connection start one after another;
 * while connections arrive, requests wait, until they are many; and those that arrive when a turn has taken long wait,
 * too. Then they start in turns, and those of one caller do not delay those of others.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createTurnClock } from '@datahub/service-kit/yield-to-loop';

/** A turn without a new connection starts this many. */
const startedMax = 8;
/** While connections arrive, each turn starts one request for this many that wait. */
const waitingPerStart = 256;
/** When the requests of a turn have taken this long, further ones wait. */
const turnMs = 8;
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
  /** By caller. The first lane has waited longest. */
  const lanes = new Map<string, Exchange[]>();
  let waiting = 0;
  let turnsToWait = 0;
  let isScheduled = false;
  const clock = createTurnClock(turnMs);

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

  /** True if a request that arrives now starts at once. */
  const isFree = (): boolean => {
    if (turnsToWait > 0 || waiting > 0) return false;
    clock.begin();
    return !clock.isSpent;
  };

  return {
    connected: () => {
      turnsToWait = turnsAfterConnection;
      schedule();
    },
    handle: (request, response) => {
      if (isFree()) {
        listener(request, response);
        return;
      }
      const key = callerOf(request);
      const lane = lanes.get(key) ?? [];
      lane.push({ request, response });
      lanes.set(key, lane);
      waiting++;
      schedule();
    },
  };
}

/** What says who calls: a key, a token, or the cookie with the session of a person. */
const callerOf = ({ headers }: IncomingMessage): string =>
  String(headers['x-service-api-key'] ?? headers.authorization ?? headers.cookie ?? '');

export interface Pipelines {
  /** For the event `request`. */
  handle: RequestListener;
  /** True if a request of the connection waits. Then nothing more of it is parsed. */
  isWaiting(socket: Socket): boolean;
}

interface Line {
  /** The answer to the last request that was started. */
  last: ServerResponse;
  waiting: [IncomingMessage, ServerResponse][];
}

/** Requests that wait on all connections. Each is some objects in memory, and one slice of a connection has a hundred. */
const waitingMax = 4_096;

/**
 * Starts the requests of each connection one after another, each in a turn of the event loop of its own. Those that a
 * client sends before it has the answer to an earlier one (HTTP pipelining) wait for it. If too many wait on all
 * connections, the one that sends a further one is closed.
 */
export function createPipelines(listener: RequestListener): Pipelines {
  const lines = new WeakMap<Socket, Line>();
  let waitingAll = 0;

  const begin = (socket: Socket, response: ServerResponse): void => {
    const line: Line = { last: response, waiting: [] };
    lines.set(socket, line);
    socket.once('close', () => {
      waitingAll -= line.waiting.length;
      line.waiting = [];
    });
  };
  const startNext = (socket: Socket, line: Line): void => {
    const next = line.waiting.shift();
    if (next === undefined) return;
    waitingAll--;
    if (socket.destroyed) return;
    if (line.waiting.length === 0) socket.resume();
    start(socket, line, next);
  };
  const start = (socket: Socket, line: Line, [request, response]: Line['waiting'][0]): void => {
    line.last = response;
    if (line.waiting.length > 0) response.once('close', () => setImmediate(startNext, socket, line));
    listener(request, response);
  };

  const handle: RequestListener = (request, response) => {
    const { socket } = request;
    const line = lines.get(socket);
    if (line === undefined) {
      begin(socket, response);
      listener(request, response);
    } else if (line.last.writableFinished && line.waiting.length === 0)
      start(socket, line, [request, response]);
    else if (waitingAll === waitingMax || socket.destroyed) socket.destroy();
    else {
      waitingAll++;
      if (line.waiting.push([request, response]) > 1) return;
      // The rest of the read stays unparsed, and nothing more is read.
      socket.pause();
      line.last.once('close', () => setImmediate(startNext, socket, line));
    }
  };
  return { handle, isWaiting: (socket) => (lines.get(socket)?.waiting.length ?? 0) > 0 };
}
