/** Cleanup that is still to do after changes that are already in force. */

export interface Leftovers {
  /** Runs the cleanup for this document now. If it fails, resolves to the error, and `retry` runs it again. */
  finish(id: string, rest: () => Promise<unknown>): Promise<{ err: unknown } | undefined>;
  retry(): Promise<void>;
}

/** Cleanup beyond this number is found by the next start. */
const leftoversMax = 1_000;

export function createLeftovers(onFailure: (err: unknown) => void): Leftovers {
  const left = new Map<string, () => Promise<unknown>>();
  const finish: Leftovers['finish'] = async (id, rest) => {
    try {
      await rest();
      left.delete(id);
      return undefined;
    } catch (err) {
      onFailure(err);
      // Behind the others, which it must not keep from being tried again.
      left.delete(id);
      if (left.size < leftoversMax) left.set(id, rest);
      return { err };
    }
  };
  return {
    finish,
    retry: async () => {
      for (const [id, rest] of [...left]) if ((await finish(id, rest)) !== undefined) return;
    },
  };
}
