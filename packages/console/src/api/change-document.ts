/** Changes of a document of the hub that overwrite nothing that somebody else saved meanwhile. */

import { call, Failure, problemOf } from './client.ts';
import { parseExact } from './exact.ts';

/** Others can change the document between a look and the change, each time. */
const triesMax = 5;

/** What the person saw was changed by somebody else. The change was not made. */
export class ChangedMeanwhile<T = unknown> extends Failure {
  readonly now: T;
  constructor(now: T) {
    super({ status: 412, code: 'VERSION_MISMATCH', detail: 'It was changed since it was shown.' });
    this.now = now;
  }
}

interface Change<T> {
  /** Whether that which the person saw is still so. Absent for a change that does not depend on it. */
  isAsShown?(now: T): boolean | Promise<boolean>;
  /** Sends the change of `now` with these headers. */
  send(headers: Record<string, string>, now: T): Promise<unknown>;
}

/**
 * Reads the document at `path`, compares it with what was shown, and sends the change for the version that it read. The
 * version of a document also changes with what a page does not show, so a change for the version of the page would fail
 * without need. Rejects with `ChangedMeanwhile`.
 */
export async function changeDocument<T>(path: string, { isAsShown, send }: Change<T>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const response = await call(path);
    const etag = response.headers.get('etag');
    const now = parseExact<T>(await response.text());
    if (isAsShown !== undefined && !(await isAsShown(now))) throw new ChangedMeanwhile(now);
    try {
      await send(etag === null ? {} : { 'if-match': etag }, now);
      return;
    } catch (err) {
      if (!isChanged(err) || tries === triesMax) throw err;
    }
  }
}

/** Sets members of a document, whatever they were, and leaves the others as they are. `bodyOf` returns the body of a PUT. */
export const setMembers = <T>(path: string, bodyOf: (now: T) => object): Promise<void> =>
  changeDocument<T>(path, {
    send: (headers, now) => call(path, { method: 'PUT', body: bodyOf(now), headers }),
  });

export const isChanged = (err: unknown): boolean => problemOf(err).code === 'VERSION_MISMATCH';
