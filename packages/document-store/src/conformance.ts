import { afterAll, beforeAll, describe } from 'vitest';
import { describeBeside } from './conformance-beside.ts';
import { describeBlobs } from './conformance-blobs.ts';
import type { Context, Item } from './conformance-cases.ts';
import { conformanceSpecs } from './conformance-cases.ts';
import { describeReads } from './conformance-reads.ts';
import { describeTenancy, describeUpkeep } from './conformance-upkeep.ts';
import { describeValues } from './conformance-values.ts';
import { describeWrites } from './conformance-writes.ts';
import type { Collection, CollectionSpec, DocumentStore } from './document-store.ts';

/** What every adapter must do. `createStore` opens an empty store; it is opened once and closed at the end. */
export function describeDocumentStore(
  name: string,
  createStore: (specs: CollectionSpec[]) => Promise<DocumentStore>,
): void {
  describe(`document store on ${name}`, () => {
    let store: DocumentStore;
    let items: Collection<Item>;
    let accounts = 0;
    beforeAll(async () => {
      store = await createStore(conformanceSpecs);
      items = store.collection('items');
    });
    afterAll(async () => {
      await store.close();
      await store.close();
    });
    /** Each case has accounts of its own, so that no case sees another's documents. */
    const context: Context = {
      store: () => store,
      items: () => items,
      account: () => `dh.acct.${++accounts}`,
    };
    describeWrites(context);
    describeBeside(context);
    describeReads(context);
    describeValues(context);
    describeTenancy(context);
    describeUpkeep(context);
    describeBlobs(context);
  });
}
