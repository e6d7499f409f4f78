/** The most likely classes of many, without sorting all of them. */

import type { Score } from './learner.ts';
import type { Model } from './model/model.ts';

const byConfidence = (x: Score, y: Score) => y.confidence - x.confidence || (x.classId < y.classId ? -1 : 1);

/** At most `top` classes, most likely first, ties by class id; `probabilities` is by class index. */
export function bestOf({ classes }: Model, probabilities: Float64Array, top: number): Score[] {
  const best: Score[] = [];
  // Candidates are cut back to `top` whenever there are twice as many: what is under the last of them is out for good.
  let least = 0;
  for (let i = 0; i < probabilities.length; i++) {
    const classId = classes[i]?.classId;
    const confidence = probabilities[i] as number;
    if (classId === undefined || confidence < least) continue;
    best.push({ classId, confidence });
    if (best.length < 2 * top) continue;
    best.sort(byConfidence).length = top;
    least = (best[top - 1] as Score).confidence;
  }
  best.sort(byConfidence);
  return best.length > top ? best.slice(0, top) : best;
}
