/**
 * The key: in memory, and in sessionStorage if the person asked for that. Then it is shared with the other tabs of this
 * browser, too (docs/adr/0011-sign-in.md). A person who signed in at a provider has a session in a cookie that no script
 * can read, and no key here: the key is `bySession` then.
 */

import { signal } from '@preact/signals';
import { ofTab, openChannel } from './storage.ts';
import type { Problem } from './types.ts';

const storedAs = 'datahub.key';
/** The id of a key that a sign-in link created, which signing out revokes. */
const keyIdStoredAs = 'datahub.key-id';
/** A key that the next load of the page takes into memory, and removes. */
const passedOnAs = 'datahub.key-passed-on';

const revokeTimeoutMs = 5_000;
/** Another tab answers within milliseconds. If its answer comes later, it still signs this tab in. */
const answerTimeoutMs = 150;

type Message = { ask: true } | { key: string; keyId?: string | undefined } | { signedOut: true };

/** Stands for the key of a session. */
export const bySession = '';
/** The hub sets it beside the session, for scripts. */
const hintCookie = '__Host-datahub-person';
const hasSession = () => document.cookie.split('; ').includes(`${hintCookie}=1`);

export const key = signal<string | undefined>(ofTab.get(storedAs) ?? takePassedOn());
/** The last key that the hub refused. What was read with it is still in memory. */
let refused: string | undefined;
/** Why the last key was refused, shown beside the form. */
export const refusal = signal<Problem | undefined>(undefined);

function takePassedOn(): string | undefined {
  const passedOn = ofTab.get(passedOnAs) ?? undefined;
  ofTab.remove(passedOnAs);
  return passedOn;
}

let channel: BroadcastChannel | undefined;
let isAsking = false;

const tell = (message: Message) => channel?.postMessage(message);

function hear({ data }: MessageEvent<Message>): void {
  if ('ask' in data) {
    const kept = ofTab.get(storedAs);
    if (kept !== null) tell({ key: kept, keyId: ofTab.get(keyIdStoredAs) ?? undefined });
  } else if ('signedOut' in data) {
    if (key.value !== undefined) forget();
  } else if (isAsking && key.value === undefined) {
    signIn(data.key, { keep: true, keyId: data.keyId });
  }
}

/** Signs in by the session of the browser, or with the key of another tab, if one has a key that it may share. */
export async function joinTabs(): Promise<void> {
  channel = openChannel('datahub');
  if (channel !== undefined) channel.onmessage = hear;
  if (key.value === undefined && hasSession()) key.value = bySession;
  if (key.value !== undefined || channel === undefined) return;
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
  if (keyId === undefined) ofTab.remove(keyIdStoredAs);
  else ofTab.set(keyIdStoredAs, keyId);
  if (keep) ofTab.set(storedAs, text);
  else ofTab.remove(storedAs);
  refusal.value = undefined;
  if (refused === undefined || refused === text) {
    key.value = text;
    return;
  }
  // Another person may have come: rows, drafts and new keys of the one before must not be shown.
  if (!keep) ofTab.set(passedOnAs, text);
  history.replaceState(null, '');
  location.reload();
}

/** The headers and the mode of a request with this key. */
export const credentialsOf = (
  used: string | undefined,
): { headers: Record<string, string>; credentials: RequestCredentials } =>
  used === bySession
    ? { headers: {}, credentials: 'same-origin' }
    : { headers: { 'x-service-api-key': used ?? '' }, credentials: 'omit' };

/** Revokes the key of a sign-in link: if the hub does not answer, it expires within 12 hours. Ends a session. Ends all tabs. */
export async function signOut(): Promise<void> {
  if (key.value === bySession) {
    const signal = AbortSignal.timeout(revokeTimeoutMs);
    await fetch(new URL('auth/logout', document.baseURI), { method: 'POST', signal }).catch(() => undefined);
  }
  const keyId = ofTab.get(keyIdStoredAs);
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

function forgetSession(): void {
  // biome-ignore lint/suspicious/noDocumentCookie: only Chromium has the other API, and this cookie has no secret.
  document.cookie = `${hintCookie}=; Path=/; Secure; Max-Age=0`;
}

/** The reload removes from memory what was read with the key. */
function forget(): void {
  forgetSession();
  ofTab.remove(keyIdStoredAs);
  ofTab.remove(storedAs);
  // No other tab answers a page that asks, because all of them forget.
  location.hash = '';
  location.reload();
}

const sessionEnded: Problem = { status: 401, title: 'You are signed out', detail: 'Sign in again.' };

/** Called for every 401: a key that ended leads back to the form, at the same address. */
export function keyRefused(problem: Problem): void {
  forgetSession();
  ofTab.remove(keyIdStoredAs);
  ofTab.remove(storedAs);
  refused = key.value ?? refused;
  refusal.value = key.value === bySession ? sessionEnded : problem;
  key.value = undefined;
}
