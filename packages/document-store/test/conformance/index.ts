import { afterAll, beforeAll, describe } from 'vitest';
import type { Collection, CollectionSpec, DocumentStore } from '../../src/document-store.ts';
import { describeBlobs } from './blobs.ts';
import type { Context, Item } from './cases.ts';
import { conformanceSpecs } from './cases.ts';
import { describeCompanions } from './companions.ts';
import { describeReads } from './reads.ts';
import { describeTenancy, describeUpkeep } from './upkeep.ts';
import { describeValues } from './values.ts';
import { describeWrites } from './writes.ts';

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
    describeCompanions(context);
    describeReads(context);
    describeValues(context);
    describeTenancy(context);
    describeUpkeep(context);
    describeBlobs(context);
  });
}
