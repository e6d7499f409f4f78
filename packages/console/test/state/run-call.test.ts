import { expect, it } from 'vitest';
import { toCall } from '../../src/state/run-call.ts';

it('executes the version that is shown, with all digits of the values', () => {
  const call = toCall({ queryId: 'q', version: 3 }, '{"n":12345678901234567890.10}', { dryRun: undefined });
  expect(call).toEqual({
    path: 'v1/queries/execute',
    body: '{"queryId":"q","context":{"n":12345678901234567890.10},"options":{"version":3}}',
  });
  expect(toCall({ queryId: 'q' }, '{}', {}).body).toBe('{"queryId":"q","context":{}}');
});

it('tries a draft without storing it', () => {
  const draft = {
    text: 'SELECT 1',
    command: 'SELECT',
    sourceId: 's',
    context: [{ key: 'a' }],
    notNull: ['b'],
  };
  const { path, body } = toCall({ draft }, '{"a":1.0}', { maxRows: 9 });
  expect(path).toBe('v1/queries/try');
  expect(body).toContain('"values":{"a":1.0}');
  expect(JSON.parse(body)).toEqual({
    sourceId: 's',
    query: 'SELECT 1',
    command: 'SELECT',
    context: [{ key: 'a' }],
    notNull: ['b'],
    values: { a: 1 },
    options: { maxRows: 9 },
  });
});

it('leaves out what a write or an unknown command does not have', () => {
  const draft = { text: 'x', command: '', sourceId: 's', context: [], notNull: [] };
  expect(JSON.parse(toCall({ draft }, '{}', {}).body)).not.toHaveProperty('command');
  const writing = { ...draft, command: 'UPDATE', notNull: ['a'] };
  expect(JSON.parse(toCall({ draft: writing }, '{}', { dryRun: true }).body)).toMatchObject({
    notNull: [],
    options: { dryRun: true },
  });
});
