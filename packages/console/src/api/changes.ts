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
  const key = unanswered.get(name) ?? randomId();
  remember(name, key);
  for (let attempt = 0; ; attempt++) {
    const pauseMs = pausesMs[attempt];
    try {
      const response = await send({ 'idempotency-key': key });
      const isRunning = await saysThatItRuns(response);
      if (!isRunning) unanswered.delete(name);
      if (!isRunning || pauseMs === undefined) return response;
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

async function saysThatItRuns(response: Response): Promise<boolean> {
  if (response.status !== conflict) return false;
  const { code, detail = '' } = await response
    .clone()
    .json()
    .catch(() => ({}));
  return code === 'IDEMPOTENCY_CONFLICT' && detail.includes('still running');
}
