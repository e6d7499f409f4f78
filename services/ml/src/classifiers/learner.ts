/**
 * What a replica keeps in memory of one classifier. The same calls in the same order give the same learner, byte for
 * byte, on any machine.
 */

export interface Score {
  classId: string;
  /** In [0, 1]; over all classes they sum to 1. */
  confidence: number;
}

export interface Learner {
  /** Learns one example; costs the length of the text. Returns the best of what it would have predicted before. */
  learn(classId: string, text: string): Score | undefined;
  /** The best `top` classes, all of them by default, most likely first, ties by class id; empty before any training. */
  predict(text: string, top?: number): Score[];
  /** Takes a class out; what it left in the numbers of the others stays until these are learnt again. */
  forget(classId: string): void;
  /** About the memory it takes, in bytes. */
  readonly size: number;
  toBytes(): Uint8Array;
}
