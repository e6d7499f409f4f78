/** All views of the console, with something in each. */

import { expect } from 'vitest';
import { api, createSource } from '../hub.ts';

export interface ViewIds {
  boardId: string;
  sourceId: string;
  queryId: string;
  classifierId: string;
  watchId: string;
  runId: string;
}

export async function prepareViews(hubId: string): Promise<ViewIds> {
  const sourceId = await createSource(hubId);
  const query = 'SELECT region, note FROM sales WHERE region = :region AND id IN (:ids)';
  const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'by region', query }));
  const changed = { query: { query: query.replace('note', 'note, id') }, cache: { maxAgeS: 60 } };
  await api.ok(api.put(`/v1/queries/${config.query.queryId}`, { config: changed }));
  const { id } = await api.ok(api.post('/v1/classifiers', { name: 'mail' }));
  const words = [
    ['late', 'it is late'],
    ['paid', 'I paid twice'],
    ['late', 'where is it'],
    ['paid', 'where is my money'],
  ];
  const many = Array.from({ length: 10 }, () => words).flat();
  const examples = many.map(([label, context]) => ({ label, context }));
  await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
  const { queryId } = config.query;
  const cards = [
    { text: '# Sales\nBy region.' },
    { queryId, size: 'wide', values: { ids: [1, 2] } },
    { path: 'none' },
  ];
  const board = { hubId, label: 'regions', cards, values: { region: 'north' } };
  const { boardId } = await api.ok(api.post('/v1/boards', board));
  return {
    sourceId,
    queryId,
    classifierId: id,
    boardId,
    ...(await prepareWatch({ hubId, sourceId, name: 'one', query: 'SELECT 1 AS one' })),
  };
}

interface NamedPlace {
  hubId: string;
  sourceId: string;
  /** Of the watch, its query and the column that it tells. */
  name: string;
  /** Its only column is 1. */
  query: string;
}

/** A watch that has told a row, and the run that did. */
export async function prepareWatch({ hubId, sourceId, name, query }: NamedPlace) {
  const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: name, query }));
  const { queryId } = stored.config.query;
  const when = { column: name, is: '=', value: 1 };
  const { watchId } = await api.ok(
    api.post('/v1/watches', {
      ...{ hubId, queryId, label: name, when, include: [name] },
      schedule: { cron: '30 6 * * 1-5', timeZone: 'Pacific/Auckland' },
    }),
  );
  const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
  const isOver = async () => (await api.get(`/v1/watches/${watchId}/runs/${runId}`)).status;
  await expect.poll(isOver).toBe(200);
  return { watchId, runId };
}

/** The path of each view below its hub. */
export const viewsOf = ({
  sourceId,
  queryId,
  classifierId,
  boardId,
  watchId,
  runId,
}: ViewIds): Record<string, string[]> => ({
  hub: [],
  query: ['query', queryId],
  contract: ['query', queryId, 'contract'],
  runs: ['query', queryId, 'runs'],
  versions: ['query', queryId, 'versions'],
  'statistics of a query': ['query', queryId, 'statistics'],
  statistics: ['statistics'],
  source: ['source', sourceId],
  settings: ['source', sourceId, 'settings'],
  'new source': ['new-source'],
  'new query': ['new-query'],
  keys: ['keys'],
  'new key': ['keys', 'new'],
  'new classifier': ['new-classifier'],
  predict: ['classifier', classifierId, 'predict'],
  train: ['classifier', classifierId, 'train'],
  examples: ['classifier', classifierId, 'examples'],
  classes: ['classifier', classifierId, 'classes'],
  evaluation: ['classifier', classifierId, 'evaluation'],
  summary: ['summary'],
  'summary of a column': ['summary', 'column'],
  people: ['people'],
  agents: ['agents'],
  audit: ['audit'],
  boards: ['boards'],
  board: ['boards', boardId],
  'a board that is edited': ['boards', boardId, 'edit'],
  watches: ['watches'],
  'a watch': ['watches', watchId],
  'a run': ['watches', watchId, runId],
  'new watch': ['watches', 'new', queryId],
  'a missing query': ['query', `${queryId}0`],
  'a missing page': ['nowhere'],
});
