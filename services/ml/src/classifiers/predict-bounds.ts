/** Limits on the cost of one `predict` call. They are checked before the work starts. */

import { HubError } from '@datahub/service-kit/call/error';

/** Contexts times classes: a score is computed for each class of each context. */
export const scoresComputedMax = 1_000_000;
/** Contexts times returned scores. The gateway turns them into JSON without a pause. */
export const scoresReturnedMax = 20_000;
/** Bytes of all labels in one response. */
export const labelBytesMax = 8 * 1024 * 1024;

export const topDefault = 20;

export function requirePredictBounds(
  contexts: number,
  { classes, top }: { classes: number; top: number },
): void {
  if (contexts * classes > scoresComputedMax) {
    throw exceeded(
      `${contexts} contexts for a classifier of ${classes} classes are too many: contexts times classes may be at most ${scoresComputedMax}. Send at most ${Math.floor(scoresComputedMax / classes)} contexts at a time.`,
    );
  }
  const scores = Math.min(top, classes);
  if (contexts * scores > scoresReturnedMax) {
    throw exceeded(
      `${contexts} contexts with ${scores} scores each are too many: contexts times scores may be at most ${scoresReturnedMax}. Send at most ${Math.floor(scoresReturnedMax / scores)} contexts at a time, or lower options.top.`,
    );
  }
}

/** Counts the bytes of labels while a response grows. Throws when there are too many. */
export function createLabelCount(): (scores: readonly { label: string }[]) => void {
  let bytes = 0;
  return (scores) => {
    for (const { label } of scores) bytes += Buffer.byteLength(label);
    if (bytes <= labelBytesMax) return;
    throw exceeded(
      `The labels in the response have more than ${labelBytesMax} bytes. Send fewer contexts at a time, or lower options.top.`,
    );
  };
}

const exceeded = (message: string) => new HubError('LIMIT_EXCEEDED', message);
