/**
 * The key: in memory, and in sessionStorage if the person asked for that. Then it is shared with the other tabs of this
 * browser, too (docs/adr/0011-sign-in.md).
 */

import { signal } from '@preact/signals';
import type { Problem } from './types.ts';

const storedAs = 'datahub.key';
/** The id of a key that a sign-in link created, which signing out revokes. */
const keyIdStoredAs = 'datahub.key-id';

const revokeTimeoutMs = 5_000;
/** Another tab answers within milliseconds. If its answer comes later, it still signs this tab in. */
const answerTimeoutMs = 150;

type Message = { ask: true } | { key: string; keyId?: string | undefined } | { signedOut: true };

export const key = signal<string | undefined>(sessionStorage.getItem(storedAs) ?? undefined);
/** Why the last key was refused, shown beside the form. */
export const refusal = signal<Problem | undefined>(undefined);

let channel: BroadcastChannel | undefined;
let isAsking = false;

const tell = (message: Message) => channel?.postMessage(message);

function hear({ data }: MessageEvent<Message>): void {
  if ('ask' in data) {
    const kept = sessionStorage.getItem(storedAs);
    if (kept !== null) tell({ key: kept, keyId: sessionStorage.getItem(keyIdStoredAs) ?? undefined });
  } else if ('signedOut' in data) {
    if (key.value !== undefined) forget();
  } else if (isAsking && key.value === undefined) {
    signIn(data.key, { keep: true, keyId: data.keyId });
  }
}

/** Signs in with the key of another tab, if one has a key that it may share. */
export async function joinTabs(): Promise<void> {
  // Only pages of the same origin hear each other; a hub below another path is another hub.
  channel = new BroadcastChannel(`datahub ${new URL('.', document.baseURI).pathname}`);
  channel.onmessage = hear;
  if (key.value !== undefined) return;
  isAsking = true;
  let stop: (() => void) | undefined;
  const answered = new Promise<void>((resolve) => {
    stop = key.subscribe((value) => value !== undefined && resolve());
  });
  tell({ ask: true });
  await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, answerTimeoutMs))]);
  stop?.();
}

export function signIn(text: string, { keep, keyId }: { keep: boolean; keyId?: string | undefined }): void {
  isAsking = false;
  if (keyId === undefined) sessionStorage.removeItem(keyIdStoredAs);
  else sessionStorage.setItem(keyIdStoredAs, keyId);
  if (keep) sessionStorage.setItem(storedAs, text);
  else sessionStorage.removeItem(storedAs);
  refusal.value = undefined;
  key.value = text;
}

/** Revokes the key of a sign-in link: if the hub does not answer, it expires within 12 hours. Ends all tabs. */
export async function signOut(): Promise<void> {
  const keyId = sessionStorage.getItem(keyIdStoredAs);
  if (keyId !== null && key.value !== undefined) {
    await fetch(new URL(`v1/keys/${encodeURIComponent(keyId)}`, document.baseURI), {
      method: 'DELETE',
      headers: { 'x-service-api-key': key.value },
      signal: AbortSignal.timeout(revokeTimeoutMs),
    }).catch(() => undefined);
  }
  tell({ signedOut: true });
  forget();
}

/** The reload removes from memory what was read with the key. */
function forget(): void {
  sessionStorage.removeItem(keyIdStoredAs);
  sessionStorage.removeItem(storedAs);
  // No other tab answers a page that asks, because all of them forget.
  location.hash = '';
  location.reload();
}

/** Called for every 401: a key that ended leads back to the form, at the same address. */
export function keyRefused(problem: Problem): void {
  sessionStorage.removeItem(keyIdStoredAs);
  sessionStorage.removeItem(storedAs);
  refusal.value = problem;
  key.value = undefined;
}
