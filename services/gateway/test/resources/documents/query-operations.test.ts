import type { Query } from '@datahub/proto/catalog/v1/catalog';
import { expect, it } from 'vitest';
import { toQueryParts } from '../../../src/resources/documents/query-operations.ts';

it('shows the example of a variable of any JSON within its content, where OpenAPI allows it', () => {
  const context = [{ key: 'doc', type: 'json' }, { key: 'id', type: 'integer' }, { key: 'name' }];
  const query = { queryId: 'q', label: 'q', command: 'SELECT', context } as unknown as Query;
  const { paths } = toQueryParts({ name: 'q', query, described: undefined }, new Set());
  const { get } = paths['/v1/queries/q/data'] as { get: { parameters: object[] } };
  const [doc, id, name] = get.parameters;
  expect(doc).toMatchObject({ name: 'doc', content: { 'application/json': { schema: {}, example: 1 } } });
  expect(doc).not.toHaveProperty('example');
  expect(id).toMatchObject({ schema: { type: 'integer' }, example: 1 });
  expect(name).toMatchObject({ schema: { type: 'string' }, example: 'text' });
});
