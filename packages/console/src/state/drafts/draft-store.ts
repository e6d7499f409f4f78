/**
 * Drafts that survive a reload and a crash: in the browser's own database, by key, hub, query and tab. They hold
 * definitions and no values of variables. If the browser refuses its database, there are none.
 */

import { signal } from '@preact/signals';
import { parseExact } from '../../api/exact.ts';
import type { Draft } from '../query-editor.ts';
import { hearsTabs, otherTabs, ownTab, rememberTab } from './tab.ts';

export interface KeptDraft {
  keyId: string;
  hubId: string;
  /** The page that edits it: its address below the hub. */
  page: string;
  /** The tab that edits it. */
  tab: string;
  label: string;
  /** When it was kept, in milliseconds since 1970. */
  at: number;
  draft: Draft;
  /** What the page began with, so that a change by others shows as a conflict. */
  base: unknown;
}

export type DraftPlace = Pick<KeptDraft, 'keyId' | 'hubId' | 'page'>;

export interface ListedDraft extends KeptDraft {
  /** True if another tab has it open. */
  isElsewhere: boolean;
}

/** Counts the changes, so that lists of drafts are read again. */
export const draftChanges = signal(0);

const databaseName = 'datahub-drafts';
const storeName = 'drafts-by-tab';
/** Of releases in which the tabs of a browser shared a draft. */
const sharedStoreName = 'drafts';
/** The most drafts of a browser, and how long it keeps them. The oldest go first. */
const draftsMax = 100;
const keptMs = 30 * 86_400_000;

const keyOf = ({ keyId, hubId, page, tab }: DraftPlace & Pick<KeptDraft, 'tab'>) => [keyId, hubId, page, tab];

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
  const opening = indexedDB.open(databaseName, 2);
  opening.onupgradeneeded = () => upgrade(opening);
  const database = await ended(opening);
  try {
    return await work(database.transaction(storeName, mode).objectStore(storeName));
  } finally {
    database.close();
  }
}

function upgrade({ result: database, transaction }: IDBOpenDBRequest): void {
  const store = database.createObjectStore(storeName, { keyPath: ['keyId', 'hubId', 'page', 'tab'] });
  if (!database.objectStoreNames.contains(sharedStoreName)) return;
  const reading = transaction?.objectStore(sharedStoreName).getAll();
  if (reading === undefined) return;
  reading.onsuccess = () => {
    for (const kept of reading.result) store.put({ ...kept, tab: '' });
    database.deleteObjectStore(sharedStoreName);
  };
}

/** As it is stored: exact numbers have no form in the database, so they are JSON texts. Older releases stored objects. */
type Stored = Omit<KeptDraft, 'draft' | 'base'> & { draft: unknown; base: unknown };

const toStored = (kept: KeptDraft): Stored => ({
  ...kept,
  draft: JSON.stringify(withoutSecrets(kept.draft)),
  base: kept.base === undefined ? undefined : JSON.stringify(kept.base),
});
const unpacked = (value: unknown): unknown => (typeof value === 'string' ? parseExact(value) : value);

async function readAll(store: IDBObjectStore): Promise<KeptDraft[]> {
  const all: Stored[] = await ended(store.getAll());
  return all.map((one) => ({ ...one, draft: unpacked(one.draft) as Draft, base: unpacked(one.base) }));
}

/** Keeps the draft of this tab. Resolves to true if the browser keeps it. */
export async function keepDraft(kept: Omit<KeptDraft, 'tab'>): Promise<boolean> {
  try {
    const tab = await ownTab();
    rememberTab(tab);
    await withStore('readwrite', async (store) => {
      await ended(store.put(toStored({ ...kept, tab })));
      const all = await readAll(store);
      const old = all
        .sort((one, other) => other.at - one.at)
        .filter(({ at }, i) => i >= draftsMax || at < kept.at - keptMs);
      for (const one of old) await ended(store.delete(keyOf(one)));
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

/** Drops the draft of this tab. */
export async function dropDraft(place: DraftPlace): Promise<void> {
  const key = keyOf({ ...place, tab: await ownTab() });
  await withStore('readwrite', (store) => ended(store.delete(key))).catch(() => undefined);
  draftChanges.value++;
}

/** The draft of this tab, or else the latest of a tab that is closed, which is that of this tab from then on. */
export async function openDraft(place: DraftPlace): Promise<KeptDraft | undefined> {
  const tab = await ownTab();
  const all = await latestFirst(place);
  const mine = all.filter(({ page }) => page === place.page);
  const own = mine.find((one) => one.tab === tab);
  if (own !== undefined || mine.length === 0 || !hearsTabs) return own;
  const others = await otherTabs();
  const left = mine.find((one) => !others.has(one.tab));
  if (left === undefined) return undefined;
  const taken = { ...left, tab };
  rememberTab(tab);
  await withStore('readwrite', async (store) => {
    await ended(store.put(toStored(taken)));
    await ended(store.delete(keyOf(left)));
  }).catch(() => undefined);
  return taken;
}

/** The drafts of a key in a hub, the latest first. */
export async function listDrafts(of: Pick<KeptDraft, 'keyId' | 'hubId'>): Promise<ListedDraft[]> {
  const all = await latestFirst(of);
  if (all.length === 0) return [];
  const others = await otherTabs();
  return all.map((one) => ({ ...one, isElsewhere: others.has(one.tab) }));
}

async function latestFirst({ keyId, hubId }: Pick<KeptDraft, 'keyId' | 'hubId'>): Promise<KeptDraft[]> {
  const all = await withStore('readonly', readAll).catch(() => []);
  return all
    .filter((one) => one.keyId === keyId && one.hubId === hubId)
    .sort((one, other) => other.at - one.at);
}
