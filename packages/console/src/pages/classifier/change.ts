/** Changes of a classifier that are made only if what they change is still as it was shown. */

import { call, Failure, part, problemOf } from '../../api/client.ts';
import { parseExact } from '../../api/exact.ts';
import type { Classifier } from '../../api/types.ts';

/** The classifier can learn between a look and the change, each time. */
const triesMax = 5;

interface Change {
  /** Whether that which is changed is as it was shown. */
  isAsShown(classifier: Classifier): boolean | Promise<boolean>;
  send(ifMatch: Record<string, string>): Promise<unknown>;
}

/**
 * The version of a classifier changes with each example that it learns, so a change with the version of the page would
 * fail while other programs train it. Instead this reads the version, then compares what is changed, then sends the
 * change for that version.
 */
export async function changeAsShown(classifierId: string, { isAsShown, send }: Change): Promise<void> {
  for (let tries = 1; ; tries++) {
    const response = await call(`v1/classifiers/${part(classifierId)}`);
    const etag = response.headers.get('etag');
    if (!(await isAsShown(parseExact<Classifier>(await response.text())))) throw changedMeanwhile();
    try {
      await send(etag === null ? {} : { 'if-match': etag });
      return;
    } catch (err) {
      if (!isChanged(err) || tries === triesMax) throw err;
    }
  }
}

export const isChanged = (err: unknown): boolean => problemOf(err).code === 'VERSION_MISMATCH';

const changedMeanwhile = () =>
  new Failure({ status: 412, code: 'VERSION_MISMATCH', detail: 'It was changed since it was shown.' });
