/** A worker that stores the schemas of sources, because parsing and searching them would block the page. */

import type { Answers, SchemaRequest } from './protocol.ts';
import { TableIndex } from './table-index.ts';

const indexes = new Map<string, TableIndex>();
const keptMax = 12;
const scope = globalThis as unknown as {
  postMessage(message: unknown): void;
  addEventListener(
    type: 'message',
    listener: (event: MessageEvent<{ id: number; asked: SchemaRequest }>) => void,
  ): void;
};

/** Undefined for a source whose schema is not here any more. */
function indexOf(sourceId: string): TableIndex | undefined {
  const index = indexes.get(sourceId);
  if (index === undefined) return undefined;
  // The least recently used are dropped.
  indexes.delete(sourceId);
  indexes.set(sourceId, index);
  return index;
}

function answer(asked: SchemaRequest): { answer: Answers[keyof Answers] } | { isGone: true } {
  if (asked.op === 'load') return { answer: load(asked.sourceId, asked.text) };
  if (asked.op === 'search' && asked.sourceId === undefined) {
    const results = [...indexes.values()].map((index) => index.search(asked.text, asked.max));
    const tables = results.flatMap((result) => result.tables).slice(0, asked.max);
    return { answer: { tables, total: results.reduce((sum, { total }) => sum + total, 0) } };
  }
  const index = indexOf(asked.sourceId as string);
  if (index === undefined) return { isGone: true };
  if (asked.op === 'search') return { answer: index.search(asked.text, asked.max) };
  if (asked.op === 'table') return { answer: index.table(asked.schema, asked.name) };
  return { answer: index.complete(asked, asked.at) };
}

function load(sourceId: string, text: string): Answers['load'] {
  const { tables } = JSON.parse(text);
  indexes.delete(sourceId);
  const oldest = indexes.keys().next();
  if (indexes.size >= keptMax && !oldest.done) indexes.delete(oldest.value);
  indexes.set(sourceId, new TableIndex(sourceId, tables));
  return { tables: tables.length };
}

scope.addEventListener('message', ({ data: { id, asked } }) => {
  try {
    scope.postMessage({ id, ...answer(asked) });
  } catch (err) {
    scope.postMessage({ id, error: (err as Error).message });
  }
});
