import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { loadSchema, searchTables } from '../../../src/state/schema/schema-index.ts';

type Message = { id: number; asked: { op: string; sourceId: string } };

/** Keeps one schema. */
class OneSchema {
  static failing = 0;
  static last: OneSchema | undefined;
  #kept: string | undefined;
  readonly #listeners = new Map<string, (event: unknown) => void>();

  addEventListener(type: string, listener: (event: unknown) => void): void {
    this.#listeners.set(type, listener);
  }

  terminate(): void {}

  postMessage({ id, asked: { op, sourceId } }: Message): void {
    const isFailing = OneSchema.failing-- > 0;
    setImmediate(() => {
      if (isFailing) return this.#listeners.get('error')?.({});
      if (op === 'load') this.#kept = sourceId;
      const answer = op === 'load' ? { tables: 1 } : { tables: [], total: 1 };
      this.#listeners.get('message')?.({
        data: { id, ...(this.#kept === sourceId ? { answer } : { isGone: true }) },
      });
    });
  }
}

const read = vi.fn(async () => new Response('{"tables":[]}'));
beforeEach(() => {
  vi.stubGlobal('Worker', OneSchema);
  vi.stubGlobal('document', { baseURI: 'http://localhost/' });
  vi.stubGlobal('fetch', read);
  read.mockClear();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it('reads a schema again that the worker has dropped, and asks once more', async () => {
  await loadSchema('a');
  await loadSchema('b');
  expect(read).toHaveBeenCalledTimes(2);
  expect(await Promise.all([searchTables('a', 'x', 1), searchTables('a', 'y', 1)])).toEqual([
    { tables: [], total: 1 },
    { tables: [], total: 1 },
  ]);
  expect(read).toHaveBeenCalledTimes(3);
});

it('starts another worker after one that could not be started', async () => {
  OneSchema.failing = 1;
  await expect(loadSchema('c')).rejects.toThrow('could not be started');
  expect(await loadSchema('c')).toBe(1);
  expect(await searchTables('a', 'x', 1)).toEqual({ tables: [], total: 1 });
});
