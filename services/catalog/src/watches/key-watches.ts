/** Changes of a key reach its watches at once: they pause if it may do too little, and follow it if it is replaced. */

import { inGroups } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, overtaken, untilWritten } from '../catalog.ts';
import { findBatches } from '../pagination.ts';
import type { PersonDoc } from '../people/documents.ts';
import { loadActing, pauses } from './maker.ts';
import { pauseWatch } from './watch-state.ts';

const batchSize = 200;
/** Changed at a time. A watch that pauses can make a delivery to each destination of the account. */
const atOnce = 4;

interface KeyPlace {
  accountId: string;
  keyId: string;
}

/** Pauses the watches that the key may no longer run. What fails is tried again later, and at each tick. */
export async function settleKeyWatches(catalog: Catalog, key: KeyPlace): Promise<void> {
  await catalog.leftovers.finish(`watches of ${key.keyId}`, () =>
    eachWatch(catalog, key, async (watchId) => {
      const watch = await catalog.store.watches.get(key.accountId, watchId);
      if (watch === null || watch.paused) return;
      await loadActing(catalog, watch).catch(async (err) => {
        if (!pauses(err)) throw err;
        await pauseWatch(catalog, watch, err);
      });
    }),
  );
}

/** The same for the watches that a person wrote, in a session or with a key that ends with the person. */
export async function settlePersonWatches(
  catalog: Catalog,
  { accountId, id: personId }: Pick<PersonDoc, 'accountId' | 'id'>,
): Promise<void> {
  await settleKeyWatches(catalog, { accountId, keyId: personId });
  await catalog.leftovers.finish(`watches of the keys of ${personId}`, async () => {
    const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
    for await (const keys of findBatches(catalog.store.keys, { accountId }, all))
      for (const key of keys)
        if (key.personId === personId) await settleKeyWatches(catalog, { accountId, keyId: key.id });
  });
}

/** Gives the watches of a key to the key that replaces it. */
export async function moveKeyWatches(
  catalog: Catalog,
  keyId: string,
  successor: { accountId: string; id: string },
): Promise<void> {
  const { watches } = catalog.store;
  const key = { accountId: successor.accountId, keyId };
  await catalog.leftovers.finish(`watches of ${keyId}`, () =>
    eachWatch(catalog, key, (watchId) =>
      untilWritten(async () => {
        const watch = await watches.get(key.accountId, watchId);
        if (watch?.keyId !== keyId) return;
        const moved = { ...watch, keyId: successor.id, version: watch.version + 1 };
        return (await watches.replace(moved)) ? undefined : overtaken;
      }),
    ),
  );
}

async function eachWatch(
  { store }: Catalog,
  { accountId, keyId }: KeyPlace,
  work: (watchId: string) => Promise<void>,
): Promise<void> {
  for (let afterId: string | undefined; ; ) {
    const page = { accountId, where: { keyId }, ...(afterId === undefined ? {} : { afterId }) };
    const batch = await store.watches.findSummaries({ ...page, limit: batchSize });
    await inGroups(batch, atOnce, ({ id }) => work(id));
    if (batch.length < batchSize) return;
    afterId = batch.at(-1)?.id;
  }
}
