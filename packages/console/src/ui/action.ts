/** What a button or a form does: whether it runs, and why it failed. */

import { useState } from 'preact/hooks';
import { isAborted, problemOf } from '../api/client.ts';
import type { Problem } from '../api/types.ts';

/** An action that `leaves` its view stays busy when it has succeeded, so that a second press does nothing. */
export function useAction({ leaves = false } = {}) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  /** Resolves to the reason of a failure. */
  const run = async (work: () => Promise<unknown>): Promise<Problem | undefined> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      if (!leaves) setBusy(false);
      return undefined;
    } catch (err) {
      const failed = isAborted(err) ? undefined : problemOf(err);
      setProblem(failed);
      setBusy(false);
      return failed;
    }
  };
  return { busy, problem, run, forget: () => setProblem(undefined) };
}
