/** What every replica of a classifier works with. */

import type { FairTurn } from '../scheduling/fair-turn.ts';
import type { Slices } from '../scheduling/slices.ts';
import type { MlStore } from '../store.ts';
import type { Replica } from './classifier-log.ts';
import type { LearnerFactory } from './learner.ts';

export interface ReplicaDeps {
  store: MlStore;
  learners: LearnerFactory;
  slices: Slices;
  createClassId: () => string;
  nowMs: () => number;
  onFailure: (err: unknown) => void;
  /** Runs the loading of a classifier, which takes some times its memory, one after the other. */
  loading: FairTurn;
  /** Called when a classifier came into memory. */
  onLoaded?: (replica: Replica) => void;
  /** Classes that a classifier may have. */
  classesMax?: number;
}
