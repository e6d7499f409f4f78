/** What the classifiers of a process share. */

import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import type { FairLock } from '../scheduling/fair-lock.ts';
import type { TimeSlices } from '../scheduling/time-slices.ts';
import type { MlStore } from '../store.ts';
import type { LearnerFactory } from './learner.ts';

export interface ClassifierDeps {
  store: MlStore;
  learners: LearnerFactory;
  slices: TimeSlices;
  createClassId: () => string;
  nowMs: () => number;
  /** Background work failed. A later call tries it again. */
  onFailure: (err: unknown) => void;
  /** Held while a snapshot is read or written, which takes several times the memory of the classifier. */
  snapshotLock: FairLock;
  /** The classifier has just been loaded into memory. */
  onLoaded?: () => void;
  /** Classes of one classifier. */
  classesMax?: number;
}

export interface PredictOptions {
  /** Scores per text. */
  top: number;
  signal: CallSignal;
}
