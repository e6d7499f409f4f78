/** Where the person is, as the fragment of the address: it survives reload and Back, and never reaches a server. */

import { batch, computed, signal } from '@preact/signals';

const pathOf = (hash: string): string => hash.split('?', 1)[0] ?? '';
const queryOf = (hash: string): string => hash.slice(pathOf(hash).length + 1);

const read = (): string[] =>
  pathOf(location.hash)
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
const query = signal(queryOf(location.hash));
let current = location.hash;

export const route = computed(() => parts.value);
/** True if the address names no page. The browser tells of a changed address only later. */
export const isAtStart = (): boolean => read().length === 0;
/** What follows `?`: the values of a query. */
export const addressQuery = computed(() => query.value);

addEventListener('hashchange', () => {
  if (location.hash === current) return;
  const isSamePage = pathOf(current) === pathOf(location.hash);
  current = location.hash;
  batch(() => {
    query.value = queryOf(location.hash);
    if (!isSamePage) parts.value = read();
  });
  if (!isSamePage) scrollTo(0, 0);
});

export const linkTo = (...to: string[]): string => `#/${to.map(encodeURIComponent).join('/')}`;

export function go(...to: string[]): void {
  location.hash = linkTo(...to);
}

/** Without an entry in the history. */
export function goInstead(...to: string[]): void {
  replace(linkTo(...to));
  parts.value = read();
}

/** Sets what follows `?`, without an entry in the history. */
export function setAddressQuery(text: string): void {
  // The person has left the page, of which the browser tells only later.
  if (pathOf(location.hash) !== pathOf(current)) return;
  if (text === queryOf(location.hash)) return;
  replace(pathOf(location.hash) + (text === '' ? '' : `?${text}`));
}

function replace(hash: string): void {
  current = hash;
  history.replaceState(null, '', hash);
  query.value = queryOf(hash);
}
