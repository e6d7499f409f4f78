/**
 * A change that gets no answer is sent again with the same `Idempotency-Key`, so that it is carried out once and the
 * console learns what became of it. Browsers themselves send a POST again if a connection that was used before ends
 * before its answer begins.
 */

import { randomId } from './random-id.ts';
import { unlessAborted } from './unless-aborted.ts';

const pausesMs = [500, 1_000, 2_000, 4_000, 8_000];
const unansweredMax = 20;

/** The keys of changes whose end is unknown, by path and body: who tries the same again learns the end of the first. */
const unanswered = new Map<string, string>();

const ofEarlier = new WeakSet<Response>();

/** True for the answer to an earlier change of the same path and body, which had got none here. Nothing was done again. */
export const isOfEarlier = (response: Response): boolean => ofEarlier.has(response);

interface Change {
  path: string;
  body: string;
  signal: AbortSignal | undefined;
}

/**
 * Resolves to the answer, which can still be that the first request is running. Rejects with the last failure if there is
 * none.
 */
export async function sendChange(
  { path, body, signal }: Change,
  send: (headers: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  const name = `${path} ${body}`;
  const earlier = unanswered.get(name);
  const key = earlier ?? randomId();
  remember(name, key);
  for (let attempt = 0; ; attempt++) {
    const pauseMs = pausesMs[attempt];
    try {
      const response = await send({ 'idempotency-key': key });
      const end = await endOf(response);
      if (end === 'known') unanswered.delete(name);
      if (earlier !== undefined && response.headers.get('idempotency-replayed') === 'true')
        ofEarlier.add(response);
      if (end === 'known' || end === 'unknown' || pauseMs === undefined) return response;
    } catch (err) {
      if (signal?.aborted || pauseMs === undefined) throw err;
    }
    await unlessAborted(new Promise((resolve) => setTimeout(resolve, pauseMs)), signal);
  }
}

function remember(name: string, key: string): void {
  unanswered.set(name, key);
  const [oldest] = unanswered.keys();
  if (unanswered.size > unansweredMax && oldest !== undefined) unanswered.delete(oldest);
}

const conflict = 409;

/** Answers of proxies that did not wait for the hub: Request Timeout, and nginx's for a client that has left. */
const cutShort = [408, 499];

/** True for an answer of a proxy before the hub, which can still carry out the request. */
export const isOfProxy = ({ status, code }: { status: number; code?: unknown }): boolean =>
  code === undefined && (status >= 500 || cutShort.includes(status));

/** True if nobody knows whether a change was carried out that failed so. */
export const isAnswerLost = (problem: { status: number; code?: unknown }): boolean =>
  problem.status === 0 || problem.code === 'OUTCOME_UNKNOWN' || isOfProxy(problem);

/** What an answer says of a change: `lost` if it is not of the hub, `unknown` if the hub itself does not know. */
async function endOf(response: Response): Promise<'known' | 'running' | 'lost' | 'unknown'> {
  const { status } = response;
  if (status < 500 && status !== conflict && !cutShort.includes(status)) return 'known';
  const { code, detail = '' } = await response
    .clone()
    .json()
    .catch(() => ({}));
  if (isOfProxy({ status, code })) return 'lost';
  if (code === 'OUTCOME_UNKNOWN') return 'unknown';
  return code === 'IDEMPOTENCY_CONFLICT' && detail.includes('still running') ? 'running' : 'known';
}
