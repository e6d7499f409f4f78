/** What one call of `predict` may cost: known before the work begins, so that it is refused whole. */

import { HubError } from '@datahub/service-kit/call/error';

/** Contexts times classes: each context has a score computed for every class. */
export const scoresComputedMax = 1_000_000;
/** Contexts times the scores that each is answered with: an answer is encoded in one go, a microsecond a score. */
export const scoresAnsweredMax = 50_000;
/** Bytes of the labels in one answer; labels have up to 200 characters. */
export const labelBytesMax = 8 * 1024 * 1024;

export const topDefault = 20;
export const topMax = 1_000;

export function requireAffordable(
  contexts: number,
  { classes, top }: { classes: number; top: number },
): void {
  if (contexts * classes > scoresComputedMax) {
    throw exceeded(
      `${contexts} contexts for a classifier of ${classes} classes are too many: contexts times classes may be at most ${scoresComputedMax}. Send at most ${Math.floor(scoresComputedMax / classes)} contexts at a time.`,
    );
  }
  const scores = Math.min(top, classes);
  if (contexts * scores > scoresAnsweredMax) {
    throw exceeded(
      `${contexts} contexts with ${scores} scores each are too many: contexts times scores may be at most ${scoresAnsweredMax}. Send at most ${Math.floor(scoresAnsweredMax / scores)} contexts at a time, or lower options.top.`,
    );
  }
}

/** Counts the labels of an answer while it is made. */
export function createLabelCount(): (scores: readonly { label: string }[]) => void {
  let bytes = 0;
  return (scores) => {
    for (const { label } of scores) bytes += Buffer.byteLength(label);
    if (bytes <= labelBytesMax) return;
    throw exceeded(
      `The labels of the answer have more than ${labelBytesMax} bytes. Send fewer contexts at a time, or lower options.top.`,
    );
  };
}

const exceeded = (message: string) => new HubError('LIMIT_EXCEEDED', message);
