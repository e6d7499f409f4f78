/** Answers a long call in lines of NDJSON: its progress while it runs, at the end its result or its problem. */

import type { FastifyReply } from 'fastify';
import { type ResponseSettings, sendHeaders } from './streamed-response.ts';

export interface ProgressOptions extends Pick<ResponseSettings, 'failMidway'> {
  /** Runs the call. It can report its progress at any time. */
  run(report: (progress: object) => void): Promise<object>;
}

const contentType = 'application/x-ndjson; charset=utf-8';
const intervalMs = 1_000;

/** A failure before the first line is thrown, and answered with its own status. */
export async function respondWithProgress(
  reply: FastifyReply,
  { run, failMidway }: ProgressOptions,
): Promise<unknown> {
  const { request, raw: response } = reply;
  let reportedAt = performance.now();
  const report = (progress: object): void => {
    const now = performance.now();
    // Progress is not buffered for a client that does not read: it gets the next line that there is room for.
    if (now - reportedAt < intervalMs || response.writableNeedDrain || response.destroyed) return;
    reportedAt = now;
    if (!response.headersSent) sendHeaders(reply, contentType);
    response.write(toLine(progress));
  };
  let last: object;
  try {
    last = await run(report);
  } catch (err) {
    if (!response.headersSent) throw err;
    last = failMidway(err, request);
  }
  if (!response.headersSent) {
    reply.header('content-type', contentType);
    return toLine(last);
  }
  if (!response.destroyed) response.end(toLine(last));
  return reply;
}

const toLine = (value: object): string => `${JSON.stringify(value)}\n`;
