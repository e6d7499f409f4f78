/** Prequential evaluation: each example is predicted before it is learnt, so each of them is a test (Dawid, 1984). */

const binCount = 15;
/** The calibration error is that of about this many recent predictions: the weight of older ones decays. */
const window = 2_000;

/** Snapshots store it, so its members keep their names. */
export interface EvaluationState {
  examples: number;
  correct: number;
  /** For each bin of confidence, with decay: number of predictions, sum of confidences, number of correct predictions. */
  bins: number[][];
}

export interface Evaluation {
  record(confidence: number, isCorrect: boolean): void;
  readonly state: EvaluationState;
  /** Undefined before the first prediction. */
  readonly accuracy: number | undefined;
  /** Expected calibration error over 15 bins of equal width, in [0, 1]. */
  readonly calibrationError: number | undefined;
}

export function createEvaluation(state?: EvaluationState): Evaluation {
  const own: EvaluationState = state ?? {
    examples: 0,
    correct: 0,
    bins: Array.from({ length: binCount }, () => [0, 0, 0]),
  };
  return {
    record: (confidence, isCorrect) => {
      own.examples += 1;
      if (isCorrect) own.correct += 1;
      own.bins = own.bins.map((bin) => bin.map((value) => value * (1 - 1 / window)));
      const bin = own.bins[Math.min(binCount - 1, Math.floor(confidence * binCount))] as number[];
      bin[0] = (bin[0] ?? 0) + 1;
      bin[1] = (bin[1] ?? 0) + confidence;
      bin[2] = (bin[2] ?? 0) + (isCorrect ? 1 : 0);
    },
    state: own,
    get accuracy() {
      return own.examples === 0 ? undefined : own.correct / own.examples;
    },
    get calibrationError() {
      const total = own.bins.reduce((sum, [count = 0]) => sum + count, 0);
      if (total === 0) return undefined;
      const gap = own.bins.reduce(
        (sum, [, confidence = 0, correct = 0]) => sum + Math.abs(confidence - correct),
        0,
      );
      return gap / total;
    },
  };
}
