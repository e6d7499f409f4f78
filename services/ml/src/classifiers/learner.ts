/**
 * The model of a classifier in memory. The same calls in the same order give the same model, byte for byte, on any
 * machine.
 */

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
  /**
   * Returns the best `top` classes (default: all), most likely first, ties by class id. Empty before the first example.
   */
  predict(text: string, top?: number): Score[];
  /** Removes a class. Its examples still influence the other classes until the log is learnt again. */
  forget(classId: string): void;
  /** Approximate memory in bytes. */
  readonly size: number;
  toBytes(): Uint8Array;
}

export interface LearnerFactory {
  create(): Learner;
  /** Throws if the bytes have another format. */
  restore(bytes: Uint8Array): Learner;
}
