/**
 * Drafts that survive a reload and a crash: in the browser's own database, by key, hub and query. They hold definitions
 * and no values of variables. If the browser refuses its database, there are none.
 */

import { signal } from '@preact/signals';
import type { Draft } from '../query-editor.ts';

export interface KeptDraft {
  keyId: string;
  hubId: string;
  /** The page that edits it: its address below the hub. */
  page: string;
  label: string;
  /** When it was kept, in milliseconds since 1970. */
  at: number;
  draft: Draft;
  /** What the page began with, so that a change by others shows as a conflict. */
  base: unknown;
}

export type DraftPlace = Pick<KeptDraft, 'keyId' | 'hubId' | 'page'>;

/** Counts the changes, so that lists of drafts are read again. */
export const draftChanges = signal(0);

const databaseName = 'datahub-drafts';
const storeName = 'drafts';
/** The most drafts of a browser, and how long it keeps them. The oldest go first. */
const draftsMax = 100;
const keptMs = 30 * 86_400_000;

const placeOf = ({ keyId, hubId, page }: DraftPlace) => [keyId, hubId, page];

function ended<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function withStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const opening = indexedDB.open(databaseName, 1);
  opening.onupgradeneeded = () =>
    opening.result.createObjectStore(storeName, { keyPath: ['keyId', 'hubId', 'page'] });
  const database = await ended(opening);
  try {
    return await work(database.transaction(storeName, mode).objectStore(storeName));
  } finally {
    database.close();
  }
}

/** Resolves to true if the browser keeps it. */
export async function keepDraft(kept: KeptDraft): Promise<boolean> {
  try {
    await withStore('readwrite', async (store) => {
      await ended(store.put({ ...kept, draft: withoutSecrets(kept.draft) }));
      const all = (await ended(store.getAll())) as KeptDraft[];
      const old = all
        .sort((one, other) => other.at - one.at)
        .filter(({ at }, i) => i >= draftsMax || at < kept.at - keptMs);
      for (const one of old) await ended(store.delete(placeOf(one)));
    });
    draftChanges.value++;
    return true;
  } catch {
    return false;
  }
}

/** A secret variable has no default; one that becomes secret may still have it. */
const withoutSecrets = (draft: Draft): Draft => ({
  ...draft,
  context: draft.context.map((variable) => {
    if (variable.secret !== true) return variable;
    const { value: _, ...rest } = variable;
    return rest;
  }),
});

export async function dropDraft(place: DraftPlace): Promise<void> {
  await withStore('readwrite', (store) => ended(store.delete(placeOf(place)))).catch(() => undefined);
  draftChanges.value++;
}

export const readDraft = (place: DraftPlace): Promise<KeptDraft | undefined> =>
  withStore('readonly', (store) =>
    ended(store.get(placeOf(place)) as IDBRequest<KeptDraft | undefined>),
  ).catch(() => undefined);

/** The drafts of a key in a hub, the latest first. */
export const listDrafts = ({ keyId, hubId }: Pick<KeptDraft, 'keyId' | 'hubId'>): Promise<KeptDraft[]> =>
  withStore('readonly', async (store) => {
    const all = (await ended(store.getAll())) as KeptDraft[];
    return all
      .filter((one) => one.keyId === keyId && one.hubId === hubId)
      .sort((one, other) => other.at - one.at);
  }).catch(() => []);
