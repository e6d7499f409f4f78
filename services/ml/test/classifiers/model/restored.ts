/** Stores learners and restores them without pauses, as a hub that has nothing else to do. */

import { deserialize, serialize } from 'node:v8';
import type { Learner, LearnerFactory } from '../../../src/classifiers/learner.ts';
import type { Pause } from '../../../src/scheduling/time-slices.ts';

export const noPause: Pause = () => undefined;

export const bytesOf = async (learner: Learner): Promise<Buffer> => serialize(await learner.toState(noPause));

export const restored = async (learners: LearnerFactory, learner: Learner): Promise<Learner> =>
  learners.restore(deserialize(await bytesOf(learner)), noPause);
