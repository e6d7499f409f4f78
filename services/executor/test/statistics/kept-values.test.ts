import { keptValuesLengthMax } from '@datahub/contract/query-runs';
import { expect, it } from 'vitest';
import { keptValues } from '../../src/statistics/kept-values.ts';

type Kept = Parameters<typeof keptValues>[0];

const sent = '{"big":12345678901234567890.10,"token":"s3cret","region":"pinned","who":"claimed","typo":1}';
const executionOf = (change: object = {}): Kept =>
  ({
    query: { keepValues: true, variables: [{ key: 'token', secret: true }, { key: 'big' }] },
    prepared: { names: ['big', 'token', 'region', 'who', 'absent'] },
    request: { queryId: 'q', contextJson: sent },
    ctx: {
      principal: {
        limits: { contextJson: '{"region":"north"}', user: { claims: [{ variable: 'who' }] } },
      },
    },
    ...change,
  }) as unknown as Kept;

it('are what was sent, digit by digit, without secret, pinned, claimed and unknown variables', () => {
  expect(keptValues(executionOf())).toBe('{"big":12345678901234567890.10}');
  expect(keptValues(executionOf({ request: { queryId: 'q', contextJson: '' } }))).toBe('{}');
});

it('are those of the address for a call over GET', () => {
  const form = { request: { queryId: 'q', contextJson: '', form: { values: [] } } };
  expect(keptValues(executionOf({ ...form, formContextJson: '{"big":1}' }))).toBe('{"big":1}');
  expect(keptValues(executionOf(form))).toBeUndefined();
});

it.each([
  ['the query keeps none', { query: { variables: [] } }],
  ['the statement is not known', { prepared: undefined }],
  ['records were sent in bulk', { request: { queryId: 'q', contextJson: sent, load: { columns: [] } } }],
  ['they are too long', { request: { contextJson: `{"big":"${'x'.repeat(keptValuesLengthMax)}"}` } }],
])('are absent if %s', (_case, change) => {
  expect(keptValues(executionOf(change))).toBeUndefined();
});
