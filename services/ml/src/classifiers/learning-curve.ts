/** The learning curve: how good the predictions were in each window of examples. The windows grow with the log. */

/** A window: the number of its examples, how many were predicted correctly, and the sum of the confidences. */
type Window = [examples: number, correct: number, confidence: number];

/** Oldest first. Snapshots store it. */
export type CurveState = Window[];

export interface CurvePoint {
  /** The number of examples up to the end of the window. */
  examples: number;
  /** How many of them are in the window. The figures count only these. */
  window: number;
  accuracy: number;
  meanConfidence: number;
}

/** The windows end after 10, 20, 30, 50, 100, 200, 300, 500, 1,000 examples and so on. The last one has no end. */
const ends = [10, 20, 30, 50];
const windowsMax = 32;

const endOf = (index: number): number =>
  index < 0 ? 0 : (ends[index % ends.length] as number) * 10 ** Math.floor(index / ends.length);

const isFull = (curve: CurveState, [examples]: Window): boolean =>
  curve.length < windowsMax && examples === endOf(curve.length - 1) - endOf(curve.length - 2);

export function addToCurve(curve: CurveState, confidence: number, isCorrect: boolean): void {
  let last = curve.at(-1);
  if (last === undefined || isFull(curve, last)) {
    last = [0, 0, 0];
    curve.push(last);
  }
  last[0] += 1;
  if (isCorrect) last[1] += 1;
  last[2] += confidence;
}

export const examplesOf = (curve: CurveState): number => curve.reduce((sum, [examples]) => sum + examples, 0);

export function pointsOf(curve: CurveState): CurvePoint[] {
  let examples = 0;
  return withoutShortEnd(curve).map(([window, correct, confidence]) => {
    examples += window;
    return { examples, window, accuracy: correct / window, meanConfidence: confidence / window };
  });
}

/** The figures of few examples are noise, so the last window joins the one before until it has half as many examples. */
function withoutShortEnd(curve: CurveState): CurveState {
  const [before, last] = curve.slice(-2);
  if (before === undefined || last === undefined || last[0] >= before[0] / 2) return curve;
  return [...curve.slice(0, -2), [before[0] + last[0], before[1] + last[1], before[2] + last[2]]];
}
