/** The dependencies and limits that all classifiers of a process share. */

import type { CallSignal } from '@datahub/service-kit/call/call';
import type { FairLock, FairPlaces } from '../scheduling/fair-lock.ts';
import type { TimeSlices } from '../scheduling/time-slices.ts';
import type { MlStore } from '../store.ts';
import type { LearnerFactory } from './learner.ts';

export interface ClassifierDeps {
  store: MlStore;
  learners: LearnerFactory;
  slices: TimeSlices;
  createClassId: () => string;
  nowMs: () => number;
  /** Called when background work fails. A later call tries again. */
  onFailure: (err: unknown) => void;
  /** Held while a snapshot is read or written, which takes several times the memory of the classifier. */
  snapshotLock: FairLock;
  /** A place for each classifier that learns its log again. */
  rebuildPlaces: FairPlaces;
  /** Called when the classifier has been loaded into memory. */
  onLoaded?: () => void;
  /** The most classes of one classifier. */
  classesMax?: number;
}

export interface PredictOptions {
  /** The most scores per text. */
  top: number;
  signal: CallSignal;
}
