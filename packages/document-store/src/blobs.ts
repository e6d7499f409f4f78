import { HubError } from '@datahub/service-kit/call/error';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { Collection, CollectionSpec, Doc, DocumentStore } from './document-store.ts';
import { insertIfNew } from './insert-if-new.ts';

/** In bytes. Reading a part of this size does not block other work for long. */
const partSizeMax = 4 * 1024 * 1024;
const deletedAtOnceMax = 100;
const attemptsMax = 5;

interface Head extends Doc {
  generation: string;
  size: number;
}

interface Part extends Doc {
  bytes: Uint8Array;
}

/** Bytes of any length under an id, for data that is too large for a document, such as a model. */
export interface Blobs {
  /** Atomic: readers see the old bytes or the new ones. Of two concurrent writers the last one wins. */
  put(accountId: string, id: string, bytes: Uint8Array): Promise<void>;
  get(accountId: string, id: string): Promise<Uint8Array | null>;
  delete(accountId: string, id: string): Promise<void>;
}

/** The collections to declare for `createBlobs` of the same name. */
export function blobCollections(name: string): CollectionSpec[] {
  return [{ name }, { name: `${name}Parts`, bytes: ['bytes'] }];
}

/**
 * Writes the parts of a new generation, switches the head to them by compare-and-set, then deletes older parts. The next
 * `put` or `delete` removes parts that a crash left without a head.
 *
 * @param createToken returns a unique text of characters that are valid in an id
 */
export function createBlobs(store: DocumentStore, name: string, createToken: () => string): Blobs {
  const heads = store.collection<Head>(name);
  const parts = store.collection<Part>(`${name}Parts`);

  async function deleteParts(filter: Parameters<typeof parts.deleteMany>[0]): Promise<void> {
    while ((await parts.deleteMany(filter)) === filter.limit);
  }

  async function putOnce(accountId: string, id: string, bytes: Uint8Array): Promise<boolean> {
    const old = await heads.get(accountId, id);
    const version = (old?.version ?? 0) + 1;
    const generation = `${generationOf(id, version)}${createToken()}/`;
    await writeParts(parts, { accountId, generation, bytes });
    const head: Head = { id, accountId, version, generation, size: bytes.byteLength };
    if (old === null ? await insertIfNew(heads, head) : await heads.replace(head)) {
      const beforeId = generationOf(id, version);
      await deleteParts({ accountId, idPrefix: `${id}/`, beforeId, limit: deletedAtOnceMax });
      return true;
    }
    await deleteParts({ accountId, idPrefix: generation, limit: deletedAtOnceMax });
    return false;
  }

  return {
    async put(accountId, id, bytes) {
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        if (await putOnce(accountId, id, bytes)) return;
      }
      throw new HubError('UNAVAILABLE', 'Too many concurrent writers of the same bytes. Try again.', {
        retryable: true,
      });
    },
    async get(accountId, id) {
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        const head = await heads.get(accountId, id);
        if (head === null) return null;
        const bytes = await readParts(parts, head);
        // A newer generation has replaced the parts while they were read. The next attempt finds it.
        if (bytes !== null) return bytes;
      }
      throw new HubError('UNAVAILABLE', 'The stored bytes are incomplete. Try again.', { retryable: true });
    },
    async delete(accountId, id) {
      await heads.delete(accountId, id);
      await deleteParts({ accountId, idPrefix: `${id}/`, limit: deletedAtOnceMax });
    },
  };
}

/** Sorts by version, so that older generations can be deleted as a range. */
function generationOf(id: string, version: number): string {
  return `${id}/${String(version).padStart(16, '0')}/`;
}

interface NewParts {
  accountId: string;
  generation: string;
  bytes: Uint8Array;
}

async function writeParts(
  parts: Collection<Part>,
  { accountId, generation, bytes }: NewParts,
): Promise<void> {
  for (let start = 0, i = 0; start < bytes.byteLength; start += partSizeMax, i += 1) {
    const id = `${generation}${String(i).padStart(8, '0')}`;
    await parts.insert({ id, accountId, version: 1, bytes: bytes.subarray(start, start + partSizeMax) });
  }
}

/** Null if a part is missing. */
async function readParts(
  parts: Collection<Part>,
  { accountId, generation, size }: Head,
): Promise<Uint8Array | null> {
  const whole = new Uint8Array(size);
  let filled = 0;
  let afterId: string | undefined;
  while (filled < size) {
    // SQLite reads without waiting, so all parts would be read in one turn.
    await nextTurn();
    const after = afterId === undefined ? {} : { afterId };
    const [part] = await parts.find({ accountId, idPrefix: generation, ...after, limit: 1 });
    if (part === undefined) return null;
    whole.set(part.bytes, filled);
    filled += part.bytes.byteLength;
    afterId = part.id;
  }
  return whole;
}
