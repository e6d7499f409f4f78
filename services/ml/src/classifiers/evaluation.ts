/** Prequential evaluation: each example is predicted before it is learnt, so each of them is a test (Dawid, 1984). */

import { addToCurve, type CurvePoint, type CurveState, examplesOf, pointsOf } from './learning-curve.ts';
import { type ClassFigures, type Confusion, createTally, emptyTally, type TallyState } from './tally.ts';

const binCount = 15;
/** The calibration error is that of about this many recent predictions: the weight of older ones decays. */
const window = 2_000;
/** The last examples, whose figures are also computed alone. */
const recentMax = 1_000;
const bytesPerRecent = 64;

/** Snapshots store it, so its members keep their names. */
export interface EvaluationState extends TallyState {
  /** For each bin of confidence, with decay: number of predictions, sum of confidences, number of correct predictions. */
  bins: number[][];
  /** Of the last examples, oldest first: class, predicted class, confidence. */
  recent: [string, string, number][];
  curve: CurveState;
}

export interface Figures {
  examples: number;
  /** Undefined before the first prediction. */
  accuracy: number | undefined;
  /** Expected calibration error over 15 bins of equal width, in [0, 1]. */
  calibrationError: number | undefined;
  classes: ClassFigures[];
  confusion: Confusion;
}

export interface Evaluation {
  record(classId: string, predicted: { classId: string; confidence: number }): void;
  /** Leaves out the examples of a deleted class. Its weight in the calibration error only decays. */
  forget(classId: string): void;
  readonly state: EvaluationState;
  /** Of all examples. */
  readonly figures: Figures;
  readonly recentFigures: Figures;
  /** Empty if it is not whole. */
  readonly curve: CurvePoint[];
  /** False if the curve lacks examples, or has those of a forgotten class. Only learning the log again mends this. */
  readonly hasWholeCurve: boolean;
  /** Approximate memory in bytes. */
  readonly size: number;
}

/** Old snapshots lack the members that tell classes apart, and the curve. */
export function createEvaluation(state?: Partial<EvaluationState>): Evaluation {
  const own: EvaluationState = { ...emptyTally(), bins: emptyBins(), recent: [], curve: [], ...state };
  const tally = createTally(own);
  const hasWholeCurve = () => examplesOf(own.curve) === own.examples;
  return {
    record: (classId, { classId: predictedId, confidence }) => {
      tally.record(classId, predictedId);
      addToCurve(own.curve, confidence, classId === predictedId);
      own.recent.push([classId, predictedId, confidence]);
      if (own.recent.length > recentMax) own.recent.shift();
      own.bins = own.bins.map((bin) => bin.map((value) => value * (1 - 1 / window)));
      addToBin(own.bins, confidence, classId === predictedId);
    },
    forget: (classId) => {
      tally.forget(classId);
      own.recent = own.recent.filter(([actual]) => actual !== classId);
    },
    state: own,
    get figures() {
      return { examples: own.examples, calibrationError: calibrationErrorOf(own.bins), ...tally.figures };
    },
    get recentFigures() {
      return figuresOf(own.recent);
    },
    get curve() {
      return hasWholeCurve() ? pointsOf(own.curve) : [];
    },
    get hasWholeCurve() {
      return hasWholeCurve();
    },
    get size() {
      return tally.size + bytesPerRecent * own.recent.length;
    },
  };
}

function figuresOf(recent: EvaluationState['recent']): Figures {
  const tally = createTally();
  const bins = emptyBins();
  for (const [classId, predictedId, confidence] of recent) {
    tally.record(classId, predictedId);
    addToBin(bins, confidence, classId === predictedId);
  }
  return { examples: recent.length, calibrationError: calibrationErrorOf(bins), ...tally.figures };
}

const emptyBins = () => Array.from({ length: binCount }, () => [0, 0, 0]);

function addToBin(bins: number[][], confidence: number, isCorrect: boolean): void {
  const bin = bins[Math.min(binCount - 1, Math.floor(confidence * binCount))] as number[];
  bin[0] = (bin[0] ?? 0) + 1;
  bin[1] = (bin[1] ?? 0) + confidence;
  bin[2] = (bin[2] ?? 0) + (isCorrect ? 1 : 0);
}

function calibrationErrorOf(bins: number[][]): number | undefined {
  const total = bins.reduce((sum, [count = 0]) => sum + count, 0);
  if (total === 0) return undefined;
  const gap = bins.reduce((sum, [, confidence = 0, correct = 0]) => sum + Math.abs(confidence - correct), 0);
  return gap / total;
}
