/** What comes in as no HTTP, too slowly or with too many headers never reaches the app; it is answered as a problem all the same. */

import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/error';
import { problemHeaders, toProblem } from './problems.ts';

const malformed = { status: 400, err: new HubError('VALIDATION', 'The request is malformed.') };
const answers = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    { status: 431, err: new HubError('TOO_LARGE', 'The headers are larger than the hub takes.') },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    { status: 408, err: new HubError('VALIDATION', 'The request did not arrive in time.') },
  ],
]);

/** For the listener's `clientError`: the answer, where there is still somebody to take it, and the end of the connection. */
export function answerBroken(cause: Error & { code?: string }, socket: Socket): void {
  if (cause.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) socket.write(toText(answers.get(cause.code ?? '') ?? malformed));
  socket.destroy(cause);
}

/** For the listener's `checkExpectation`: `Expect` with anything but 100-continue, which Node answers without a body. */
export function refuseExpectation(_request: unknown, response: ServerResponse): void {
  const err = new HubError('VALIDATION', 'The header Expect may say 100-continue, and nothing else.');
  const { body, headers } = toAnswer(417, err);
  response.writeHead(417, headers).end(body);
}

function toAnswer(status: number, err: HubError) {
  const id = randomUUID();
  const body = JSON.stringify({ ...toProblem(err, { path: '', id }), status });
  const length = { 'content-length': Buffer.byteLength(body) };
  return { body, headers: { ...problemHeaders(err), 'x-request-id': id, ...length, connection: 'close' } };
}

function toText({ status, err }: { status: number; err: HubError }): string {
  const { body, headers } = toAnswer(status, err);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
