/** Prequential evaluation: each example is predicted before it is learnt, so every one of them is a test (Dawid, 1984). */

const binCount = 15;
/** Calibration is that of about this many newest predictions: older ones fade, for the model was another then. */
const memory = 2_000;

export interface EvaluationState {
  examples: number;
  correct: number;
  /** For each bin of confidence: faded count, faded sum of confidence, faded count of hits. */
  bins: number[][];
}

export interface Evaluation {
  note(confidence: number, hit: boolean): void;
  readonly state: EvaluationState;
  /** Absent before the first prediction. */
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
    note: (confidence, hit) => {
      own.examples += 1;
      if (hit) own.correct += 1;
      own.bins = own.bins.map((bin) => bin.map((value) => value * (1 - 1 / memory)));
      const bin = own.bins[Math.min(binCount - 1, Math.floor(confidence * binCount))] as number[];
      bin[0] = (bin[0] ?? 0) + 1;
      bin[1] = (bin[1] ?? 0) + confidence;
      bin[2] = (bin[2] ?? 0) + (hit ? 1 : 0);
    },
    state: own,
    get accuracy() {
      return own.examples === 0 ? undefined : own.correct / own.examples;
    },
    get calibrationError() {
      const total = own.bins.reduce((sum, [count = 0]) => sum + count, 0);
      if (total === 0) return undefined;
      const gap = own.bins.reduce(
        (sum, [, confidence = 0, hits = 0]) => sum + Math.abs(confidence - hits),
        0,
      );
      return gap / total;
    },
  };
}
