/** What comes in as no HTTP, too slowly or with too many headers never reaches the app; it is answered as a problem all the same. */

import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import { createRequestId } from '@datahub/service-kit/call/request-id';
import { problemHeaders, toProblem } from './problem-details.ts';
import { RequestError } from './validation-errors.ts';

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

const unexpected = {
  status: 417,
  err: new HubError('VALIDATION', 'The header Expect may say 100-continue, and nothing else.'),
};

/** For the listener's `checkExpectation`: `Expect` with anything but 100-continue, which Node answers without a body. */
export function refuseExpectation(_request: unknown, response: ServerResponse): void {
  const { headers, body } = toAnswer(unexpected);
  response.writeHead(unexpected.status, headers).end(body);
}

const badHost = (message: string, detail: string): Broken => ({
  status: 400,
  err: new RequestError(`The request is malformed: ${message}.`, [{ pointer: 'header/host', detail }]),
});
const hostless = badHost('it has no Host header', 'is missing');
const manyHosts = badHost('it has more than one Host header', 'must be sent once');

/**
 * The same listener for requests that name their host once, as those of HTTP/1.1 must (RFC 9112, 3.2). Node refuses a
 * request without a Host itself, with an empty answer, and takes the first of several; so that check is off, and this
 * one comes before everything else.
 */
export function requireHost(listener: RequestListener): RequestListener {
  return (request, response) => {
    const hosts = countHosts(request.rawHeaders);
    if (hosts === 1 || (hosts === 0 && request.httpVersion !== '1.1')) return listener(request, response);
    const broken = hosts === 0 ? hostless : manyHosts;
    const { headers, body } = toAnswer(broken);
    response.writeHead(broken.status, headers).end(body);
  };
}

/** `headers` keeps the first of several, and `headersDistinct` costs each request a copy of all of them. */
function countHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

interface Broken {
  status: number;
  err: HubError;
}

function toText(broken: Broken): string {
  const { headers, body } = toAnswer(broken);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${broken.status} ${STATUS_CODES[broken.status]}`, ...lines, '', body].join('\r\n');
}

function toAnswer({ status, err }: Broken) {
  const id = createRequestId();
  const body = JSON.stringify({ ...toProblem(err, { path: '', id }), status });
  const headers = {
    ...problemHeaders(err),
    'x-request-id': id,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  return { headers, body };
}
