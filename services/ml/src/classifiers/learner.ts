/**
 * The model of a classifier in memory. The same calls in the same order give the same model, byte for byte, on any
 * machine.
 */

import type { Pause } from '../scheduling/time-slices.ts';

export interface Score {
  classId: string;
  /** In [0, 1]. The confidences of all classes sum to 1. */
  confidence: number;
}

export interface Learner {
  /**
   * Learns one example, in time linear in the length of the text. Returns the class that it would have predicted
   * before; undefined for the first example.
   */
  learn(classId: string, text: string): Score | undefined;
  /** The same in steps. A long text takes a tenth of a second, so others may run between them. */
  learnInSteps(classId: string, text: string): Generator<void, Score | undefined>;
  /**
   * Returns the best `top` classes (default: all), most likely first, ties by class id. Empty before the first example.
   */
  predict(text: string, top?: number): Score[];
  /** Removes a class. Its examples still influence the other classes until the log is learnt again. */
  forget(classId: string, pause: Pause): Promise<void>;
  /** Approximate memory in bytes. */
  readonly size: number;
  /** Returns what a snapshot stores. The learner must not change before it was used. */
  toState(pause: Pause): Promise<object>;
}

export interface LearnerFactory {
  create(): Learner;
  /** The learner takes over the state. Throws if it has another format. */
  restore(state: unknown, pause: Pause): Promise<Learner>;
}
