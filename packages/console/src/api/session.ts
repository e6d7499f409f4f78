/** The key of this tab: in memory, and in sessionStorage only where the person asked for that. */

import { signal } from '@preact/signals';
import type { Problem } from './types.ts';

const storedAs = 'datahub.key';
/** The id of a key that a sign-in link created, which signing out revokes. */
const keyIdStoredAs = 'datahub.key-id';

const revokeTimeoutMs = 5_000;

export const key = signal<string | undefined>(sessionStorage.getItem(storedAs) ?? undefined);
/** Why the last key was refused, shown beside the form. */
export const refusal = signal<Problem | undefined>(undefined);

export function signIn(text: string, { keep, keyId }: { keep: boolean; keyId?: string }): void {
  if (keyId === undefined) sessionStorage.removeItem(keyIdStoredAs);
  else sessionStorage.setItem(keyIdStoredAs, keyId);
  if (keep) sessionStorage.setItem(storedAs, text);
  else sessionStorage.removeItem(storedAs);
  refusal.value = undefined;
  key.value = text;
}

/**
 * Revokes the key of a sign-in link: if the hub does not answer, it expires within 12 hours. The reload removes from memory
 * what was read with the key.
 */
export async function signOut(): Promise<void> {
  const keyId = sessionStorage.getItem(keyIdStoredAs);
  if (keyId !== null && key.value !== undefined) {
    await fetch(new URL(`v1/keys/${encodeURIComponent(keyId)}`, document.baseURI), {
      method: 'DELETE',
      headers: { 'x-service-api-key': key.value },
      signal: AbortSignal.timeout(revokeTimeoutMs),
    }).catch(() => undefined);
  }
  sessionStorage.removeItem(keyIdStoredAs);
  sessionStorage.removeItem(storedAs);
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
