import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { blobCollections } from '../../src/blobs.ts';
import type { Collection, CollectionSpec, Doc, DocumentStore } from '../../src/document-store.ts';

export interface Item extends Doc {
  label?: string | null;
  group?: string | number | null;
  parent?: string;
  path?: string | null;
  nick?: string;
  secret: string;
  hits?: number;
  blob?: Uint8Array;
  goneAt?: number | null;
  kind?: number;
  dueAt?: number | null;
  data?: unknown;
}

/** Written beside changes of items. */
export interface Entry extends Doc {
  text: string;
}

/** The collections that `createStore` is given. */
export const conformanceSpecs: CollectionSpec[] = [
  {
    name: 'items',
    indexes: ['path', 'nick', 'group', 'parent'],
    pairs: [['group', 'parent']],
    unique: ['secret'],
    uniqueWithin: [{ field: 'path', within: 'group' }, { field: 'nick' }],
    counters: ['hits'],
    bytes: ['blob'],
    summary: { by: 'group', fields: ['label', 'parent'] },
    expires: 'goneAt',
    expiresBy: 'kind',
    due: 'dueAt',
    outbox: true,
  },
  { name: 'entries' },
  ...blobCollections('blobs'),
];

/** What the cases of the suite share. */
export interface Context {
  store(): DocumentStore;
  items(): Collection<Item>;
  account(): string;
}

export function item(accountId: string, id: string, more: Partial<Item> = {}): Item {
  return { id, accountId, version: 1, secret: randomUUID(), ...more };
}

export function numbered(
  accountId: string,
  count: number,
  more: (i: number) => Partial<Item> = () => ({}),
): Item[] {
  return Array.from({ length: count }, (_, i) =>
    item(accountId, `dh.q.${String(i).padStart(4, '0')}`, more(i)),
  );
}

export const ids = (docs: { id: string }[]) => docs.map((doc) => Number(doc.id.slice(-4)));
export const conflict = expect.objectContaining({ code: 'CONFLICT' });
export const invalid = expect.objectContaining({ code: 'VALIDATION' });
