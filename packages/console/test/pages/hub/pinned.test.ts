import { expect, it } from 'vitest';
import type { Query, Variable } from '../../../src/api/types.ts';
import { commonVariables, ignoredBy, isPinned } from '../../../src/pages/hub/pinned.ts';

const queryOf = (context: Variable[], pinned = true, command = 'SELECT'): Query => ({
  meta: { engine: 'postgres', hubId: 'h', label: 'a', parentNodeId: 'f' },
  config: {
    command,
    context,
    presentation: { pinned },
    query: { queryId: 'q', query: '' },
    source: { sourceId: 's', engine: 'postgres' },
  },
});

const region = { key: 'region', type: 'string', enum: ['north', 'south'] };

it('asks once for a variable that several cards use, the most used first', () => {
  const pinned = [queryOf([{ key: 'from', type: 'date' }, region]), queryOf([region]), queryOf([])];
  expect(commonVariables(pinned)).toEqual([region, { key: 'from', type: 'date' }]);
});

it('offers no choices if those of the cards differ, and never a secret value', () => {
  const other = queryOf([
    { ...region, enum: ['east'] },
    { key: 'token', secret: true },
  ]);
  expect(commonVariables([queryOf([region]), other])).toEqual([{ key: 'region' }]);
});

it('says which values a card ignores', () => {
  expect(ignoredBy(queryOf([region]), { region: 'north', from: '2026-01-01' })).toEqual(['from']);
});

it('pins only queries that read', () => {
  expect([queryOf([]), queryOf([], false), queryOf([], true, 'UPDATE')].map(isPinned)).toEqual([
    true,
    false,
    false,
  ]);
});
