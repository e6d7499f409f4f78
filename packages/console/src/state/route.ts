/**
 * Where the person is, as the fragment of the address: it survives reload and Back, and never reaches a server. The values
 * of a query do so beside the address, in the state of the browser's history: an address with values is a link that a
 * person shares.
 */

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

/** The values of the address, else those that were kept with it. */
const readValues = (): string =>
  queryOf(location.hash) || ((history.state as { values?: string } | null)?.values ?? '');

const parts = signal(read());
const query = signal(readValues());
let current = location.hash;

export const route = computed(() => parts.value);
/** True if the address names no page. The browser tells of a changed address only later. */
export const isAtStart = (): boolean => read().length === 0;
/** The values of a query, as they follow `?` in a link. */
export const addressQuery = computed(() => query.value);

addEventListener('hashchange', () => {
  if (location.hash === current) return;
  const isSamePage = pathOf(current) === pathOf(location.hash);
  current = location.hash;
  batch(() => {
    query.value = readValues();
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

/** Keeps the values of a query with the entry of the history, and takes them out of the address. */
export function setAddressQuery(text: string): void {
  // The person has left the page, of which the browser tells only later.
  if (pathOf(location.hash) !== pathOf(current)) return;
  if (text === query.value && queryOf(location.hash) === '') return;
  replace(pathOf(location.hash), text);
}

/** More is not kept: browsers limit the state. */
const keptMax = 500_000;

function replace(hash: string, values = ''): void {
  current = hash;
  const isKept = values !== '' && values.length <= keptMax;
  history.replaceState(isKept ? { values } : null, '', hash);
  query.value = values;
}
