/** What is opened is closed again, in reverse order. */

export interface Closable {
  close(): Promise<void> | void;
}

/** Collects what was opened. `close` closes each once, the newest first, and continues after a failure. */
export function createClosers(): Closable & { add(closable: Closable): void } {
  const opened: Closable[] = [];
  return {
    add: (closable) => {
      opened.push(closable);
    },
    close: async () => {
      const failures: unknown[] = [];
      for (let next = opened.pop(); next; next = opened.pop()) {
        try {
          await next.close();
        } catch (err) {
          failures.push(err);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'Closing failed.');
    },
  };
}
