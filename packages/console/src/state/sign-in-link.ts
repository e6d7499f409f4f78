/** Signs in with the link that `npm start` prints: its fragment contains a code for one use, `#sign-in=…`. */

import { addressOf } from '../api/client.ts';
import { refusal, signIn } from '../api/session.ts';
import { goInstead } from './route.ts';

const fragment = /^#sign-in=([\w-]+)$/;
const timeoutMs = 10_000;

export async function signInByLink(): Promise<void> {
  const code = fragment.exec(location.hash)?.[1];
  if (code === undefined) return;
  // The code stays neither in the address bar nor in the history.
  goInstead();
  try {
    const response = await fetch(addressOf('console/sign-in'), {
      method: 'POST',
      headers: { 'x-sign-in-code': code },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = await response.json();
    if (response.ok) signIn(answer.key, { keep: true, keyId: answer.keyId });
    else refusal.value = answer;
  } catch {
    refusal.value = { status: 0, title: 'No answer', detail: 'The hub did not answer. Is it running?' };
  }
}
