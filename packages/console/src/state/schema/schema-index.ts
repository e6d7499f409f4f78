/** Schemas of sources, read once for a tab and kept in a worker. */

import { addressOf, call, part } from '../../api/client.ts';
import type { Answers, SchemaRequest, TableHit } from './protocol.ts';

export type { TableHit } from './protocol.ts';

interface Waiting {
  resolve(answer: unknown): void;
  reject(err: Error): void;
}

/** The worker keeps few schemas, and has dropped this one. */
class SchemaGone extends Error {}

let worker: Worker | undefined;
let last = 0;
const waiting = new Map<number, Waiting>();

function ask<Op extends keyof Answers>(asked: SchemaRequest & { op: Op }): Promise<Answers[Op]> {
  worker ??= startWorker();
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker?.postMessage({ id, asked });
  });
}

function startWorker(): Worker {
  const started = new Worker(addressOf('console/worker.js'), { type: 'module' });
  started.addEventListener('message', ({ data: { id, answer, error, isGone } }) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (isGone) one?.reject(new SchemaGone());
    else if (error === undefined) one?.resolve(answer);
    else one?.reject(new Error(error));
  });
  started.addEventListener('error', () => {
    for (const { reject } of waiting.values()) reject(new Error('The index of tables could not be started.'));
    waiting.clear();
    // The next question starts another one, which has no schemas yet.
    started.terminate();
    worker = undefined;
    loaded.clear();
  });
  return started;
}

const loaded = new Map<string, Promise<number>>();

/** The number of tables; reads the schema where this tab did not yet, or where `again` asks for it. */
export function loadSchema(sourceId: string, { again = false } = {}): Promise<number> {
  const known = loaded.get(sourceId);
  if (known !== undefined && !again) return known;
  const loading = (async () => {
    const text = await (await call(`v1/sources/${part(sourceId)}/schema`)).text();
    return (await ask({ op: 'load', sourceId, text })).tables;
  })();
  loaded.set(sourceId, loading);
  loading.catch(() => loaded.get(sourceId) === loading && loaded.delete(sourceId));
  return loading;
}

/** Asks about a source, whose schema is read again if the worker has dropped it. */
async function withSchema<T>(sourceId: string, question: () => Promise<T>): Promise<T> {
  const before = loaded.get(sourceId);
  try {
    return await question();
  } catch (err) {
    if (!(err instanceof SchemaGone)) throw err;
    await loadSchema(sourceId, { again: loaded.get(sourceId) === before });
    return await question();
  }
}

export const searchTables = (sourceId: string, text: string, max: number) =>
  withSchema(sourceId, () => ask({ op: 'search', sourceId, text, max }));

export const readTable = (sourceId: string, schema: string, name: string) =>
  withSchema(sourceId, () => ask({ op: 'table', sourceId, schema, name }));

/** Tables of every schema that this tab has read. */
export async function searchLoaded(text: string): Promise<TableHit[]> {
  if (loaded.size === 0 || text.trim() === '') return [];
  return (await ask({ op: 'search', text, max: 20 })).tables;
}

const schemaWaitMs = 3_000;

/** Undefined where the schema was not asked for, failed, or is still on its way after a while. */
export async function complete(
  { sourceId, engine }: { sourceId: string; engine: string },
  text: string,
  at: number,
) {
  const loading = loaded.get(sourceId);
  if (loading === undefined) return undefined;
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, schemaWaitMs));
  const tables = await Promise.race([loading, late]).catch(() => undefined);
  if (tables === undefined) return undefined;
  const question = () => ask({ op: 'complete', sourceId, engine, text, at });
  return withSchema(sourceId, question).catch(() => undefined);
}
