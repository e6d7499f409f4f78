/** The key of this tab: in memory, and in sessionStorage only where the person asked for that. */

import { signal } from '@preact/signals';
import type { Problem } from '../api/types.ts';

const storedAs = 'datahub.key';

export const key = signal<string | undefined>(sessionStorage.getItem(storedAs) ?? undefined);
/** Why the last key was refused, shown beside the form. */
export const refusal = signal<Problem | undefined>(undefined);

export function signIn(text: string, { keep }: { keep: boolean }): void {
  if (keep) sessionStorage.setItem(storedAs, text);
  else sessionStorage.removeItem(storedAs);
  refusal.value = undefined;
  key.value = text;
}

/** A reload, so that nothing that was read with the key stays in memory. */
export function signOut(): void {
  sessionStorage.removeItem(storedAs);
  location.hash = '';
  location.reload();
}

/** Called for every 401: a key that ended leads back to the form, at the same address. */
export function keyRefused(problem: Problem): void {
  sessionStorage.removeItem(storedAs);
  refusal.value = problem;
  key.value = undefined;
}
