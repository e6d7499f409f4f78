import { describe, expect, it } from 'vitest';
import { importHasura } from '../../src/import/hasura.ts';
import { readHasuraFiles } from '../../src/import/hasura-metadata.ts';
import { Imported } from '../../src/import/imported.ts';

const metadata = {
  version: 3,
  sources: [
    {
      name: 'default',
      kind: 'postgres',
      tables: [
        {
          table: { name: 'author', schema: 'public' },
          array_relationships: [
            {
              name: 'articles',
              using: {
                foreign_key_constraint_on: {
                  column: 'author_id',
                  table: { name: 'article', schema: 'public' },
                },
              },
            },
          ],
        },
        {
          table: { name: 'article', schema: 'public' },
          object_relationships: [{ name: 'author', using: { foreign_key_constraint_on: 'author_id' } }],
          insert_permissions: ['editor', 'writer'].map((role) => ({
            role,
            permission: { columns: '*', check: {} },
          })),
          update_permissions: [
            {
              role: 'editor',
              permission: { columns: ['title'], filter: { author_id: { _eq: 'X-Hasura-User-Id' } } },
            },
          ],
          select_permissions: [
            {
              role: 'user',
              permission: {
                columns: ['id', 'author_id'],
                filter: { _or: [{ author_id: { _eq: 'X-Hasura-User-Id' } }, { state: { _neq: 'draft' } }] },
                limit: 5,
                allow_aggregations: true,
              },
            },
          ],
        },
      ],
    },
  ],
  query_collections: [
    {
      name: 'allowed',
      definition: { queries: [{ name: 'Mine', query: 'query Mine { article(limit: 9) { id } }' }] },
    },
  ],
  rest_endpoints: [
    {
      name: 'r',
      url: 'my/articles/:id',
      methods: ['GET'],
      definition: { query: { collection_name: 'allowed', query_name: 'Mine' } },
    },
  ],
};
const migration =
  'CREATE TABLE public.article (id serial, author_id integer, FOREIGN KEY ("author_id") REFERENCES "public"."author"("id"));';

function convert(operation: string, role = 'admin') {
  const into = new Imported('shop');
  const files = [
    {
      name: 'metadata.json',
      text: JSON.stringify({ ...metadata, ...(operation === '' ? {} : { query_collections: [] }) }),
    },
    { name: 'up.sql', text: migration },
    ...(operation === '' ? [] : [{ name: 'a.graphql', text: operation }]),
  ];
  importHasura(readHasuraFiles(files), into, role);
  return {
    query: into.queries[0],
    faults: into.faults.map(({ line, column, detail }) => `${line}:${column} ${detail}`),
    notes: into.notes,
  };
}

describe('importHasura', () => {
  it.each([
    [
      'query A($ids: [Int!], $name: String!) { author(where: {id: {_in: $ids}, name: {_ilike: $name}}, order_by: {name: desc_nulls_last}) { id, label: name } }',
      'SELECT "t0"."id" AS "id", "t0"."name" AS "label" FROM "public"."author" AS "t0" WHERE (("t0"."id" IN (:ids) OR :ids IS NULL) AND "t0"."name" ILIKE :name) ORDER BY "t0"."name" DESC NULLS LAST',
      [
        { key: 'ids', type: 'integer[]', value: null },
        { key: 'name', type: 'string', required: true },
      ],
    ],
    [
      'query A { author { articles(limit: 2) { id author { id } } } }',
      `SELECT (SELECT COALESCE(json_agg("r1"), '[]'::json) FROM (SELECT "t2"."id" AS "id", (SELECT row_to_json("r3") FROM (SELECT "t4"."id" AS "id" FROM "public"."author" AS "t4" WHERE "t4"."id" = "t2"."author_id") AS "r3") AS "author" FROM "public"."article" AS "t2" WHERE "t2"."author_id" = "t0"."id" LIMIT 2) AS "r1") AS "articles" FROM "public"."author" AS "t0"`,
      [],
    ],
    [
      'query A($id: uuid!) { article_by_pk(id: $id) { id } }',
      'SELECT "t0"."id" AS "id" FROM "public"."article" AS "t0" WHERE "t0"."id" = :id',
      [{ key: 'id', type: 'uuid', required: true }],
    ],
    [
      'query A { article_aggregate(where: {id: {_gt: 3}}) { aggregate { count max { id } } } }',
      `SELECT (SELECT json_build_object('count', count(*), 'max', json_build_object('id', max("r1"."id"))) FROM (SELECT "t0".* FROM "public"."article" AS "t0" WHERE "t0"."id" > 3) AS "r1") AS "aggregate"`,
      [],
    ],
  ])('%s', (operation, text, context) => {
    expect(convert(operation)).toMatchObject({ query: { text, command: 'SELECT', context }, faults: [] });
  });

  it.each([
    [
      'mutation A($t: String!) { insert_article_one(object: {title: $t, id: 1}, on_conflict: {constraint: pk, update_columns: [title]}) { id } }',
      'INSERT INTO "public"."article" AS "t" ("title", "id") VALUES (:t, 1) ON CONFLICT ON CONSTRAINT "pk" DO UPDATE SET "title" = EXCLUDED."title" RETURNING "t"."id" AS "id"',
      'INSERT',
    ],
    [
      'mutation A($id: Int!) { update_article(where: {id: {_eq: $id}}, _inc: {stars: 1}) { affected_rows } }',
      'UPDATE "public"."article" AS "t" SET "stars" = "t"."stars" + 1 WHERE "t"."id" = :id',
      'UPDATE',
    ],
    [
      'mutation A($id: Int!) { delete_article_by_pk(id: $id) { id } }',
      'DELETE FROM "public"."article" AS "t" WHERE "t"."id" = :id RETURNING "t"."id" AS "id"',
      'DELETE',
    ],
  ])('%s', (operation, text, command) => {
    expect(convert(operation)).toMatchObject({ query: { text, command }, faults: [] });
  });

  it('holds the permissions of the role, and takes the path of a REST endpoint', () => {
    expect(convert('', 'user')).toMatchObject({
      query: {
        path: 'my/articles',
        folder: ['allowed'],
        text: `SELECT "t0"."id" AS "id" FROM "public"."article" AS "t0" WHERE ("t0"."author_id" = :x_hasura_user_id OR "t0"."state" <> 'draft') LIMIT LEAST(9, 5)`,
        context: [{ key: 'x_hasura_user_id', required: true }],
      },
      notes: [{ detail: expect.stringContaining('Pin it with claims') }],
    });
    const counted = convert('query A { article_aggregate { aggregate { count } nodes { id } } }', 'user');
    expect(counted.query?.text).toMatch(
      /count\(\*\)\) FROM \(SELECT .* <> 'draft'\)\) AS "r1"\) AS "aggregate",/,
    );
    expect(counted.query?.text).toMatch(/ <> 'draft'\) LIMIT 5\) AS "r2"\) AS "nodes"$/);
    expect(convert('query A { article { title } }', 'user').faults).toEqual([
      '1:11 The role user may not use the column title of article.',
    ]);
    expect(convert('query A { author { id } }', 'user').faults).toEqual([
      '1:11 The role user has no permission to select author.',
    ]);
  });

  it('lets an upsert change what the role may update, and no more', () => {
    const upsert = (column: string) =>
      `mutation A($t: String!) { insert_article_one(object: {title: $t, author_id: 1}, on_conflict: {constraint: pk, update_columns: [${column}]}) { __typename } }`;
    const { query, faults } = convert(upsert('title'), 'editor');
    expect(faults).toEqual([]);
    expect(query?.text).toContain(
      'DO UPDATE SET "title" = EXCLUDED."title" WHERE "t"."author_id" = :x_hasura_user_id',
    );
    expect(convert(upsert('author_id'), 'editor').faults).toEqual([
      expect.stringContaining('The role editor may not use the column author_id of article.'),
    ]);
    expect(convert(upsert('title'), 'writer').faults).toEqual([
      expect.stringContaining('The role writer has no permission to update article.'),
    ]);
  });

  it.each([
    ...[
      'delete_article(where: {id: {_eq: $id}})',
      'update_article(where: {author: {id: {_eq: $id}}}, _set: {title: "x"})',
    ].map((change) => [`mutation A($id: Int) { ${change} { affected_rows } }`, 'all rows would be changed']),
    ['query A($w: article_bool_exp) { article(where: $w) { id } }', '1:33 A whole condition in a variable'],
    [
      'query A($o: [article_order_by!]) { article(order_by: $o) { id } }',
      'The order is chosen by the caller',
    ],
    ['query A($x: Boolean!) { article { id @include(if: $x) } }', 'Directives'],
    ['query A { my_action { id } }', 'my_action is no table of the metadata'],
    ['mutation A($t: String) { insert_article_one(object: {title: $t}) { id } }', 'can be left out'],
    [
      'mutation A($o: [article_insert_input!]!) { insert_article(objects: $o) { affected_rows } }',
      'A whole object in a variable',
    ],
    ['query A { article(where: {id: {_eq: null}}) { id } }', '_eq: null is an error or true'],
    ['query A { article { id ', 'Syntax Error'],
  ])('reports %s', (operation, fault) => {
    expect(convert(operation)).toMatchObject({ query: undefined, faults: [expect.stringContaining(fault)] });
  });
});
