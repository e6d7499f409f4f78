/** Keys whose secret the hub has shown once. They stay in memory until a person has copied them. */

import { signal } from '@preact/signals';

export interface ShownKey {
  name: string;
  secret: string;
  /** What holds of the key. */
  note: string;
  /** A page that uses the key, to copy. */
  page?: { title: string; text: string };
}

export const shownKeys = signal<ShownKey[]>([]);
/** The key whose dialog is open. */
export const openKey = signal<ShownKey | undefined>(undefined);

/** Keeps a key until it is confirmed. `isOpen` is false if the page shows it by itself. */
export function keepKey(key: ShownKey, { isOpen }: { isOpen: boolean }): void {
  shownKeys.value = [...shownKeys.value, key];
  if (isOpen) openKey.value = key;
}

export function confirmKey(key: ShownKey): void {
  shownKeys.value = shownKeys.value.filter((one) => one !== key);
  openKey.value = undefined;
}
