import type { ServerResponse } from 'node:http';
import { Deadlines } from '@datahub/service-kit/call/call';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { ByteBudget } from '../../src/http/byte-budget.ts';
import { RequestContext } from '../../src/http/request-context.ts';

it('counts nothing for a client that has left', () => {
  const exceeded = { key: 'too much', all: 'too much' };
  const budget = new ByteBudget({ bytesMax: 100, keyBytesMax: 100, smallBytesMax: 100, exceeded });
  const requireCaller = async () => {};
  const options = { timeoutMs: 1_000, transferMs: 1_000, deadlines: new Deadlines(), requireCaller };
  const requestOf = (closed: boolean) => {
    const request = { id: 'r', raw: { headers: {} } } as FastifyRequest;
    request.context = new RequestContext(request, { closed } as ServerResponse, options);
    return request;
  };
  expect(() => budget.reserve(requestOf(true), 0, 60)).toThrow('The client disconnected.');
  budget.reserve(requestOf(false), 0, 60);
  expect(() => budget.reserve(requestOf(false), 60, 60)).toThrow('too much');
});
