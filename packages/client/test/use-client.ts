/**
 * What a program does with the client, in any runtime: Node, a page, a worker. Returns what it got as plain values, so
 * that a test can compare runtimes.
 */

import type { createClient as CreateClient, Json, Query } from '../dist/index.js';

export interface UseOptions {
  url: string;
  key: string;
  /** The ids of queries that the test stored. */
  queries: Record<'echo' | 'many' | 'slow' | 'failing' | 'forbidden', string>;
  fetch?: typeof fetch;
}

export async function useClient(createClient: typeof CreateClient, { queries, ...options }: UseOptions) {
  const hub = createClient(options);
  const echo: Query = { queryId: queries.echo, reads: true };
  const values = { ids: [2, 1], big: 9007199254740993n, text: 'é€😀 & +' };
  const many = hub.rows({ queryId: queries.many, reads: true }, {}, { maxRows: 20_000 });
  return {
    executed: (await hub.execute(echo, values, { idempotencyKey: 'a-repeat' })).data,
    read: (await hub.data(echo, values)).data,
    streamed: { ...(await countRows(many)), truncated: many.truncated },
    aborted: await failureOf(async () => {
      const stopping = new AbortController();
      const rows = hub.rows(queries.slow, {}, { signal: stopping.signal });
      for await (const _row of rows) stopping.abort(new Error('enough'));
    }),
    left: await firstOf(hub.rows(queries.slow)),
    cut: await failureOf(() => countRows(hub.rows({ queryId: queries.failing, reads: true }))),
    refused: await failureOf(() => hub.execute(queries.forbidden)),
  };
}

async function countRows(rows: AsyncIterable<unknown>) {
  let count = 0;
  let last: unknown;
  for await (const row of rows) {
    count++;
    last = row;
  }
  return { count, last };
}

/** Leaves the loop at once. */
async function firstOf(rows: AsyncIterable<Record<string, Json>>) {
  for await (const { n } of rows) return n;
  return undefined;
}

async function failureOf(run: () => Promise<unknown>) {
  try {
    return { answer: await run() };
  } catch (err) {
    const { name, message, status, code } = err as Error & { status?: number; code?: string };
    return { name, message, status, code };
  }
}
