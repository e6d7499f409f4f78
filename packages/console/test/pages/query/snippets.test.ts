import { expect, it } from 'vitest';
import { snippetsOf } from '../../../src/pages/query/snippets.ts';

it('gives the rows of TypeScript the types of the answer, not those of the database', () => {
  const snippets = snippetsOf({
    url: 'https://hub.example/v1/queries/execute',
    queryId: 'q',
    context: '{}',
    columns: [
      { name: 'n', jsonType: 'number' },
      { name: 'took', jsonType: 'string' },
      { name: 'price', jsonType: 'number|string' },
      { name: 'tags', jsonType: 'array' },
      { name: 'doc', jsonType: 'number|string|boolean|object|array' },
    ],
  });
  expect(snippets.find(({ name }) => name === 'TypeScript')?.text).toContain(`interface Row {
  "n": number | null;
  "took": string | null;
  "price": number | string | null;
  "tags": unknown[] | null;
  "doc": unknown | null;
}`);
});
