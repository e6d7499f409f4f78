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

function answer(asked: SchemaRequest): Answers[keyof Answers] {
  if (asked.op === 'load') return load(asked.sourceId, asked.text);
  if (asked.op === 'search') {
    const searched = asked.sourceId === undefined ? [...indexes.values()] : [indexes.get(asked.sourceId)];
    const results = searched.map((index) => index?.search(asked.text, asked.max));
    return {
      tables: results.flatMap((result) => result?.tables ?? []).slice(0, asked.max),
      total: results.reduce((sum, result) => sum + (result?.total ?? 0), 0),
    };
  }
  const index = indexes.get(asked.sourceId);
  if (asked.op === 'table') return index?.table(asked.schema, asked.name);
  return index?.complete(asked.text, asked.at) ?? { from: asked.at, options: [], cut: false };
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
    scope.postMessage({ id, answer: answer(asked) });
  } catch (err) {
    scope.postMessage({ id, error: (err as Error).message });
  }
});
