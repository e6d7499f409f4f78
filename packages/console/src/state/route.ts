/** Where the person is, as the fragment of the address: it survives reload and Back, and never reaches a server. */

import { computed, signal } from '@preact/signals';

const read = (): string[] =>
  location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });

const parts = signal(read());
let current = location.hash;

export const route = computed(() => parts.value);

addEventListener('hashchange', () => {
  if (location.hash === current) return;
  current = location.hash;
  parts.value = read();
  scrollTo(0, 0);
});

export const linkTo = (...to: string[]): string => `#/${to.map(encodeURIComponent).join('/')}`;

export function go(...to: string[]): void {
  location.hash = linkTo(...to);
}

/** Without an entry in the history. */
export function goInstead(...to: string[]): void {
  current = linkTo(...to);
  history.replaceState(null, '', current);
  parts.value = read();
}
