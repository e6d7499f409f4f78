/** A reader of one answer over a socket of its own, who can take his time. */

import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface Answer {
  status: number;
  text: string;
  /** As HTTP tells: the answer came to its end. */
  complete: boolean;
  trailers: Record<string, string | undefined>;
}

export interface Reader {
  /** Resolves with the first bytes; the reader takes no more until `resume`. */
  begun: Promise<void>;
  /** Takes what comes, up to about so many bytes in all. */
  resume(upTo?: number): void;
  leave(): void;
  /** Bytes taken so far. */
  taken(): number;
  ended: Promise<Answer>;
}

export function read(
  hub: { url: string; key: string },
  {
    accept = 'application/json',
    ...body
  }: { queryId: string; accept?: string; context?: object; options?: object },
): Reader {
  const text = JSON.stringify(body);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let limit = Number.POSITIVE_INFINITY;
  let response: IncomingMessage | undefined;
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Answer>();
  const end = () =>
    ended.resolve({
      status: response?.statusCode ?? 0,
      text: Buffer.concat(chunks).toString(),
      complete: response?.complete ?? false,
      trailers: response?.trailers ?? {},
    });
  const call: ClientRequest = request(`${hub.url}/v1/queries/execute`, {
    method: 'POST',
    agent: false,
    headers: {
      'x-service-api-key': hub.key,
      'content-type': 'application/json',
      accept,
      'content-length': Buffer.byteLength(text),
    },
  });
  call.on('response', (answer) => {
    response = answer;
    answer.once('data', () => {
      answer.pause();
      begun.resolve();
    });
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes >= limit) answer.pause();
    });
    answer.on('error', () => {});
    answer.on('close', end);
  });
  call.on('error', (err) => {
    begun.reject(err);
    end();
  });
  begun.promise.catch(() => {});
  call.end(text);
  return {
    begun: begun.promise,
    resume: (upTo = Number.POSITIVE_INFINITY) => {
      limit = upTo;
      if (bytes < limit) response?.resume();
    },
    leave: () => call.destroy(),
    taken: () => bytes,
    ended: ended.promise,
  };
}
