/** Changes of one document wait for each other: if all of them read it, one could write and the others would read it again. */

import { HubError } from '@datahub/service-kit/call/error';

/** Runs the tasks of a key in their order. Throws UNAVAILABLE if too many wait. */
export type OneByOne = <T>(key: string, task: () => Promise<T>) => Promise<T>;

const waitingMax = 100;

export const tooMany = () =>
  new HubError('UNAVAILABLE', 'Too many concurrent changes to the same document. Try again.', {
    retryable: true,
  });

export function createOneByOne(): OneByOne {
  const lines = new Map<string, { last: Promise<unknown>; size: number }>();
  return async (key, task) => {
    const line = lines.get(key) ?? { last: Promise.resolve(), size: 0 };
    if (line.size > waitingMax) throw tooMany();
    lines.set(key, line);
    line.size++;
    const own = line.last.then(task);
    line.last = own.catch(() => {});
    try {
      return await own;
    } finally {
      if (--line.size === 0) lines.delete(key);
    }
  };
}
