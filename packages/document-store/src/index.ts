import type { CollectionSpec, DocumentStore } from './document-store.ts';

export type { Blobs } from './blobs.ts';
export { blobCollections, createBlobs } from './blobs.ts';
export type {
  BackupOptions,
  Collection,
  CollectionSpec,
  CompanionWrite,
  CompanionWrites,
  DeleteGuard,
  Doc,
  DocumentStore,
  Filter,
  Page,
  Position,
  Scalar,
  Summary,
} from './document-store.ts';
export { documentSizeMax, formatVersion, idLengthMax } from './document-store.ts';
export { insertIfNew } from './insert-if-new.ts';

/**
 * Opens the store that the URL names: `sqlite:` and a path, `sqlite::memory:`, or `mongodb://…`, `mongodb+srv://…`.
 * Loads only the adapter in use, to save the start time and memory of the other one's driver.
 */
export async function openDocumentStore(
  url: string,
  collections: readonly CollectionSpec[],
): Promise<DocumentStore> {
  if (url.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('./sqlite/store.ts');
    return openSqliteStore(url.slice('sqlite:'.length), collections);
  }
  if (/^mongodb(\+srv)?:\/\//.test(url)) {
    const { openMongodbStore } = await import('./mongodb/store.ts');
    return openMongodbStore(url, collections);
  }
  throw new TypeError('A store URL starts with sqlite: or mongodb://.');
}
