import { HubError } from '@datahub/service-kit/call/error';
import type { Collection, CompanionWrites, Doc } from './document-store.ts';

/** Inserts a document. Resolves to false if there is one with its id, or with a value that must be unique. */
export async function insertIfNew<T extends Doc>(
  collection: Pick<Collection<T>, 'insert'>,
  doc: T,
  made?: CompanionWrites,
): Promise<boolean> {
  try {
    await collection.insert(doc, made);
    return true;
  } catch (err) {
    if (err instanceof HubError && err.code === 'CONFLICT') return false;
    throw err;
  }
}
