/**
 * Requests that a client sends before it has the answer to an earlier one (HTTP pipelining) wait for it. Node would start
 * them all: one read of a socket holds some 1,500 requests, which other clients would wait for.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Line {
  /** The answer to the last request that was started. */
  last: ServerResponse;
  waiting: [IncomingMessage, ServerResponse][];
}

/** Starts the requests of each connection one after another, each in a turn of the event loop of its own. */
export function createPipelines(listener: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>();

  const startNext = (socket: Socket, line: Line): void => {
    const next = line.waiting.shift();
    if (next === undefined || socket.destroyed) return;
    if (line.waiting.length === 0) socket.resume();
    start(socket, line, next);
  };
  const start = (socket: Socket, line: Line, [request, response]: Line['waiting'][0]): void => {
    line.last = response;
    if (line.waiting.length > 0) response.once('close', () => setImmediate(startNext, socket, line));
    listener(request, response);
  };

  return (request, response) => {
    const { socket } = request;
    const line = lines.get(socket);
    if (line === undefined) {
      lines.set(socket, { last: response, waiting: [] });
      listener(request, response);
    } else if (line.last.writableFinished && line.waiting.length === 0)
      start(socket, line, [request, response]);
    else {
      if (line.waiting.push([request, response]) > 1) return;
      // The rest of the read stays unparsed, and nothing more is read.
      socket.pause();
      line.last.once('close', () => setImmediate(startNext, socket, line));
    }
  };
}
