/** Classifiers and their logs' dependencies over a store, without a service around it. */

import type { ClassifierDeps } from '../../src/classifiers/classifier-deps.ts';
import { createLearners } from '../../src/classifiers/model/online-learner.ts';
import { createFairLock, createFairPlaces } from '../../src/scheduling/fair-lock.ts';
import { createTimeSlices } from '../../src/scheduling/time-slices.ts';
import type { MlStore } from '../../src/store.ts';

/** Creates the documents of classifiers. Without its document, a classifier counts as deleted. */
export async function addClassifiers(store: MlStore, ...ids: string[]): Promise<void> {
  for (const id of ids)
    await store.classifiers.insert({ id, accountId: 'account', version: 1, name: id, createdAt: 0 });
}

const learners = createLearners();
let made = 0;

/** Class ids are numbered in the order in which they are made. */
export const logDeps = (store: MlStore): ClassifierDeps => ({
  store,
  learners,
  slices: createTimeSlices(),
  snapshotLock: createFairLock(),
  rebuildPlaces: createFairPlaces({ allMax: 3, accountMax: 1 }),
  createClassId: () => `class-${String(++made).padStart(5, '0')}`,
  nowMs: Date.now,
  onFailure: (err) => {
    throw err;
  },
});
