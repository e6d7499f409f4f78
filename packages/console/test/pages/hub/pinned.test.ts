import { expect, it } from 'vitest';
import type { Query, Variable } from '../../../src/api/types.ts';
import { commonVariables, ignoredBy, isPinned, variablesOf } from '../../../src/pages/hub/pinned.ts';

const queryOf = (context: Variable[], { pinned = true, command = 'SELECT', text = '' } = {}): Query => ({
  meta: { engine: 'postgres', hubId: 'h', label: 'a', parentNodeId: 'f' },
  config: {
    command,
    context,
    presentation: { pinned },
    query: { queryId: 'q', query: text },
    source: { sourceId: 's', engine: 'postgres' },
  },
});

const region = { key: 'region', type: 'string', enum: ['north', 'south'] };

it('asks once for a variable that several cards use, the most used first', () => {
  const pinned = [queryOf([{ key: 'from', type: 'date' }, region]), queryOf([region]), queryOf([])];
  expect(commonVariables(pinned.map(variablesOf))).toEqual([region, { key: 'from', type: 'date' }]);
});

it('offers no choices if those of the cards differ, and never a secret value', () => {
  const other = queryOf([
    { ...region, enum: ['east'] },
    { key: 'token', secret: true },
  ]);
  expect(commonVariables([queryOf([region]), other].map(variablesOf))).toEqual([{ key: 'region' }]);
});

it.each([[{ value: 'south' }], [{}]])('shows no default that is not that of each card: %j', (other) => {
  const north = { key: 'region', type: 'string', value: 'north' };
  const cards = [[north], [{ key: 'region', type: 'string', ...other }], [north]];
  expect(commonVariables(cards)).toEqual([{ key: 'region', type: 'string' }]);
  expect(commonVariables([[north], [north]])).toEqual([north]);
});

it('says which values a card ignores', () => {
  expect(ignoredBy(queryOf([region]), { region: 'north', from: '2026-01-01' })).toEqual(['from']);
});

it('knows a variable that a query uses and does not declare', () => {
  const query = queryOf([region], { text: "SELECT :region, :from::date, ':not'" });
  expect(variablesOf(query)).toEqual([region, { key: 'from' }]);
  expect(ignoredBy(query, { region: 'north', from: '2026-01-01', not: '' })).toEqual(['not']);
});

it('pins only queries that read', () => {
  expect(
    [queryOf([]), queryOf([], { pinned: false }), queryOf([], { command: 'UPDATE' })].map(isPinned),
  ).toEqual([true, false, false]);
});
