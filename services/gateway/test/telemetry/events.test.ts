import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { originOf } from '../../src/http/problem-details.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const cause = new Error('connect ECONNREFUSED 10.0.0.7:7071');
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const request = { id: 'r', context: { traceparent } } as unknown as FastifyRequest;

function logged(err: HubError) {
  const warn = vi.fn();
  createGatewayEvents({ warn } as never).failed(request, err);
  return warn.mock.calls[0]?.[0];
}

it('says which service is away, and belongs to the trace', () => {
  expect(logged(new HubError('UNAVAILABLE', 'A service cannot be reached.', { cause }))).toMatchObject({
    requestId: 'r',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    cause: cause.message,
  });
});

it('shows the stack of our own faults, and nothing of what a source’s driver says', () => {
  expect(logged(new HubError('INTERNAL', 'The hub failed.', { cause })).cause).toContain('at ');
  expect(logged(new HubError('SOURCE_BROKEN', 'It broke.', { cause })).cause).toBeUndefined();
  expect(logged(new HubError('NOT_FOUND', 'There is none.', { cause }))).toBeUndefined();
});

it.each([
  ['is complete', { statusCode: 200, writableFinished: true }, undefined, undefined],
  ['is a problem', { statusCode: 404, writableFinished: true }, 'NOT_FOUND', undefined],
  ['was cut off', { statusCode: 200, writableFinished: false }, undefined, 'CANCELLED'],
  ['ends with a problem', { statusCode: 200, writableFinished: true }, 'NOT_FOUND', 'NOT_FOUND'],
])('logs why an answer broke off, if it %s', (_name, raw, failedWith, brokenOff) => {
  const lines: string[] = [];
  const context = { route: { url: '/x' }, requestId: 'r', startedAt: 0 };
  createGatewayEvents(pino({}, { write: (line) => lines.push(line) })).answered(
    { method: 'POST', context, failedWith } as never,
    { raw } as never,
  );
  const [line] = lines.map((one) => JSON.parse(one));
  expect(line).toMatchObject({ requestId: 'r', durationMs: expect.any(Number), event: 'http.request' });
  expect(line.brokenOff).toBe(brokenOff);
});

it('counts an issuer of tokens that cannot be reached against its account, and a service against the hub', () => {
  expect(originOf({ code: 'UNAVAILABLE', stage: 'connect' })).toBe('source');
  expect(originOf({ code: 'UNAVAILABLE', stage: undefined })).toBe('hub');
});
