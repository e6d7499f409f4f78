import { describe, expect, it } from 'vitest';
import { writeQueryFile } from '../../src/files/query-file.ts';
import { importHasura } from '../../src/import/hasura.ts';
import { readHasuraFiles } from '../../src/import/hasura-metadata.ts';
import { Imported } from '../../src/import/imported.ts';
import { importMetabase } from '../../src/import/metabase.ts';
import { readMetabaseFiles } from '../../src/import/metabase-export.ts';
import { importNpgsqlRest } from '../../src/import/npgsqlrest.ts';
import { importRedash, readRedashFiles } from '../../src/import/redash.ts';

const id = '9007199254740993';
const fraction = '0.12345678901234567890';

/** The file of the only query. */
function fileOf(fill: (into: Imported) => void): string {
  const into = new Imported('shop');
  fill(into);
  expect(into.faults).toEqual([]);
  return writeQueryFile(into.queries[0] as (typeof into.queries)[number]);
}

const operation = {
  name: 'a.graphql',
  text: `query A($id: bigint = ${id}) { people(where: {id: {_eq: $id}, doc: {_contains: {n: ${fraction}}}}) { id } }`,
};

/** Each export has the whole number and the fraction. Doubles would change both. */
describe.each([
  [
    'the JSON of Hasura',
    (into: Imported) => {
      const text = `{"sources": [{"name": "default", "kind": "postgres", "tables": [{"table": {"name": "people", "schema": "public"}, "select_permissions": [{"role": "user", "permission": {"columns": "*", "filter": {"tenant": {"_in": [${id}]}}}}]}]}]}`;
      importHasura(readHasuraFiles([{ name: 'm.json', text }, operation]), into, 'user');
    },
  ],
  [
    'the YAML of Hasura',
    (into: Imported) => {
      const text = `- table: {name: people, schema: public}\n  select_permissions:\n  - role: user\n    permission: {columns: '*', filter: {tenant: ${id}}}`;
      importHasura(readHasuraFiles([{ name: 'tables.yaml', text }, operation]), into, 'user');
    },
  ],
  [
    'Redash',
    (into: Imported) => {
      const parameters = `[{"name": "a", "type": "number", "value": ${id}}, {"name": "b", "type": "number", "value": "${fraction}"}, {"name": "c", "type": "enum", "enumOptions": "${id}\\n5", "value": "${id}"}, {"name": "d", "type": "number", "value": ${id}}]`;
      const text = `{"id": 1, "query": "SELECT {{a}} AS a, {{b}} AS b, {{c}} AS c, '{{d}}' AS d", "options": {"parameters": ${parameters}}}`;
      importRedash(readRedashFiles([{ name: 'r.json', text }]), into, undefined);
    },
  ],
  [
    'the JSON of Metabase',
    (into: Imported) => {
      const tags = `{"a": {"name": "a", "type": "number", "default": ${id}}, "b": {"name": "b", "type": "number", "default": ["${id}", ${fraction}]}}`;
      const text = `{"id": 1, "dataset_query": {"type": "native", "native": {"query": "SELECT 1 AS a WHERE 1 = {{a}} AND 2 IN ({{b}})", "template-tags": ${tags}}}}`;
      importMetabase(readMetabaseFiles([{ name: 'm.json', text }]), into, undefined);
    },
  ],
  [
    'the YAML of Metabase',
    (into: Imported) => {
      const tags = `{a: {name: a, type: number, default: ${id}}, b: {name: b, type: number, default: ${fraction}}}`;
      const text = `dataset_query:\n  type: native\n  native:\n    query: SELECT 1 AS a WHERE 1 = {{a}} AND 2 = {{b}}\n    template-tags: ${tags}`;
      importMetabase(readMetabaseFiles([{ name: 'm.yaml', text }]), into, undefined);
    },
  ],
  [
    'NpgsqlRest',
    (into: Imported) => {
      const text = `-- HTTP GET\n-- @param $1 a bigint default +00${id}\n-- @param $2 b numeric default ${fraction}\nselect $1, $2`;
      importNpgsqlRest([{ name: 'a.sql', text }], into, '');
    },
  ],
])('numbers of %s', (_, fill) => {
  it('keep their digits', () => {
    const file = fileOf(fill);
    const longNumbers = file.match(/\d*\.?\d{16,}/g) ?? [];
    expect(new Set(longNumbers.filter((digits) => digits !== `00${id}`))).toEqual(new Set([id, fraction]));
  });
});

it('reports a default beyond all numbers as the export has it', () => {
  const into = new Imported('shop');
  const text =
    '{"id": 1, "query": "SELECT {{a}}", "options": {"parameters": [{"name": "a", "type": "number", "value": 1e999}]}}';
  importRedash(readRedashFiles([{ name: 'r.json', text }]), into, undefined);
  expect(into.faults).toMatchObject([{ detail: 'The default 1e999 is no number.' }]);
});
