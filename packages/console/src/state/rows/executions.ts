/** Executions of queries that read. Those that are asked for in the same moment are one call. */

import type { Routes } from '@datahub/client';
import { type ReadAnswer, send, toFailure } from '../../api/client.ts';
import { sendInTurn } from '../../api/rate.ts';
import { keyRefused } from '../../api/session.ts';
import { brokenOff, type Ending, readLines } from './stream.ts';

export type Execution = Routes['POST /v1/queries/data']['body']['executions'][number];

/** `body` is the object with the rows in `data`, as JSON. */
export interface ExecutionAnswer extends ReadAnswer {
  /** Whose limit cut the rows. */
  limit?: Ending['limit'];
}

interface Asked {
  execution: Execution;
  signal: AbortSignal;
  resolve(answer: ExecutionAnswer): void;
  reject(err: unknown): void;
}

/** The most executions of a call. */
const executionsMax = 50;

let asked: Asked[] = [];

/** Rejects with a Failure, or with an AbortError if `signal` was aborted. */
export async function execute(execution: Execution, signal: AbortSignal): Promise<ExecutionAnswer> {
  const answer = await sendInTurn(() => ask(execution, signal), signal);
  if (answer.status === 200) return answer;
  const failure = toFailure(answer);
  if (answer.status === 401) keyRefused(failure.problem);
  throw failure;
}

function ask(execution: Execution, signal: AbortSignal): Promise<ExecutionAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason));
    asked.push({ execution, signal, resolve, reject });
    if (asked.length === 1) queueMicrotask(sendAsked);
  });
}

function sendAsked(): void {
  const all = asked.filter(({ signal }) => !signal.aborted);
  asked = [];
  for (let at = 0; at < all.length; at += executionsMax) {
    const together = all.slice(at, at + executionsMax);
    sendTogether(together).catch((err) => {
      // This reaches those that have no answer.
      for (const { reject } of together) reject(err);
    });
  }
}

/** Ends the call once nobody waits for it. */
async function sendTogether(together: readonly Asked[]): Promise<void> {
  const stop = new AbortController();
  const waiting = new Set(together);
  for (const one of together)
    one.signal.addEventListener('abort', () => {
      if (waiting.delete(one) && waiting.size === 0) stop.abort();
    });
  const response = await send('v1/queries/data', {
    body: { executions: together.map(({ execution }) => execution) },
    accept: 'application/x-ndjson',
    // Another mode would have the hub run what its cache can answer.
    cache: 'default',
    reads: true,
    signal: stop.signal,
  });
  const { status, headers } = response;
  if (!response.ok) {
    const body = await response.text();
    for (const { resolve } of together) resolve({ status, headers, body });
    return;
  }
  await readLines(response, (lines) => {
    for (const line of lines) {
      const { index, ...answer } = readAnswer(line, headers);
      const one = together[index];
      if (one !== undefined && waiting.delete(one)) one.resolve(answer);
    }
    return true;
  });
  throw brokenOff();
}

/** In the text of JSON, quotes inside of a header are escaped. */
const bodyMark = ',"body":';

function readAnswer(line: string, ofCall: Headers): ExecutionAnswer & { index: number } {
  const at = line.indexOf(bodyMark);
  const { headers: sent, ...head } = JSON.parse(`${line.slice(0, at)}}`);
  const headers = new Headers(sent);
  const policy = ofCall.get('ratelimit-policy');
  if (policy !== null) headers.set('ratelimit-policy', policy);
  const body = line.slice(at + bodyMark.length, -1);
  // Pointers of a problem lead into the whole call, which a card does not know.
  const own = head.status === 200 ? body : body.replaceAll(`/executions/${head.index}/`, '/');
  return { ...head, headers, body: own };
}
