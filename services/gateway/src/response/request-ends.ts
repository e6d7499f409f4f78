/** Gives back what requests hold once nothing needs it, and tells when they are answered. */

import type { Deadlines } from '@datahub/service-kit/call/call';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface RequestEnds {
  /** The connection has closed, or all of the answer was written. */
  closed(request: FastifyRequest, reply: FastifyReply): void;
  /** The request has its answer, or an error. */
  done(request: FastifyRequest, reply: FastifyReply): void;
}

interface Options {
  deadlines: Deadlines;
  /** Called once for each request. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  release(request: FastifyRequest): void;
}

export function createRequestEnds({ deadlines, answered, release }: Options): RequestEnds {
  return {
    closed: (request, reply) => {
      const { context } = request;
      context.closed();
      if (reply.sent || request.isDone) {
        release(request);
        answered(request, reply);
        return;
      }
      request.disconnected = true;
      // What was begun ends later, and needs its memory until then: at the time limit if nothing tells of its end.
      if (request.bodyBytes + request.openBytes + request.responseBytes > 0)
        request.heldUntil = deadlines.add(context.deadlineAt - performance.now(), () => release(request));
    },

    done: (request, reply) => {
      request.isDone = true;
      if (!request.disconnected) return;
      request.disconnected = false;
      if (request.heldUntil !== undefined) deadlines.remove(request.heldUntil);
      release(request);
      answered(request, reply);
    },
  };
}
