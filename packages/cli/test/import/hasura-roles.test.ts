import { describe, expect, it } from 'vitest';
import { importHasura } from '../../src/import/hasura.ts';
import { readHasuraFiles } from '../../src/import/hasura-metadata.ts';
import { Imported } from '../../src/import/imported.ts';

const may = (permission: object) => [{ role: 'user', permission }];

const people = {
  table: { name: 'people', schema: 'public' },
  configuration: { column_config: null, custom_root_fields: { select: { name: 'everyone' } } },
  select_permissions: may({ columns: ['id', 'name'], filter: {}, allow_aggregations: true }),
  update_permissions: may({ columns: '*', filter: { role: { _eq: 'X-Hasura-Role' } } }),
  delete_permissions: may({ filter: {}, backend_only: true }),
  insert_permissions: may({ columns: '*', check: {}, validate_input: { type: 'http' } }),
};
const log = {
  table: { name: 'log', schema: 'public' },
  select_permissions: may({ columns: '*', filter: {}, query_root_fields: ['select_by_pk'] }),
  update_permissions: may({ columns: '*', filter: {} }),
  delete_permissions: may({ filter: {} }),
};
const odd = (name: string, filter: unknown) => ({
  table: { name, schema: 'public' },
  computed_fields: [{ name: 'secret' }],
  select_permissions: may({ columns: '*', filter }),
});
const pets = {
  table: { name: 'pets', schema: 'public' },
  object_relationships: [
    {
      name: 'owner',
      using: {
        manual_configuration: {
          remote_table: { name: 'people', schema: 'public' },
          column_mapping: { owner: 'id' },
        },
      },
    },
    { name: 'vet', using: { foreign_key_constraint_on: 'vet' } },
  ],
  select_permissions: may({ columns: '*', filter: {} }),
};
const vetPeople = {
  table: { name: 'people', schema: 'public' },
  configuration: { custom_name: 'humans' },
  select_permissions: may({ columns: '*', filter: { open: true } }),
};
const sources = [
  {
    ...{ name: 'default', kind: 'postgres' },
    tables: [
      people,
      log,
      odd('odd', { secret: true }),
      odd('odder', { id: { _is_null: 'true' } }),
      odd('bare', null),
    ],
  },
  { name: 'vets', kind: 'postgres', tables: [pets, vetPeople] },
  { name: 'wares', kind: 'mssql', tables: [{ ...log, table: { name: 'ware', schema: 'public' } }] },
  {
    ...{ name: 'eu', kind: 'postgres', customization: { root_fields: { prefix: 'eu_' } } },
    tables: [{ ...pets, table: { name: 'bill', schema: 'public' } }],
  },
];

function convert(operation: string, migrations: { name: string; text: string }[] = []) {
  const into = new Imported('shop');
  const files = [{ name: 'metadata.json', text: JSON.stringify({ sources }) }, ...migrations];
  importHasura(readHasuraFiles([...files, { name: 'a.graphql', text: operation }]), into, 'user');
  return { query: into.queries[0], faults: into.faults.map(({ detail }) => detail), notes: into.notes };
}

describe('the permissions of a role', () => {
  it.each([
    'query A { everyone(order_by: {salary: desc}) { id } }',
    'query A { everyone(distinct_on: [salary]) { id } }',
    'query A { people_aggregate { aggregate { count(columns: [salary], distinct: true) } } }',
    'query A { people_aggregate(order_by: [{salary: asc}], limit: 1) { nodes { id } } }',
    'query A($s: bigint!) { people_by_pk(salary: $s) { id } }',
    'mutation A($s: bigint!) { update_people_by_pk(pk_columns: {salary: $s}, _set: {name: "x"}) { id } }',
    'mutation A { update_people(where: {salary: {_eq: 5}}, _set: {name: "x"}) { affected_rows } }',
    'mutation A { update_people(where: {id: {_eq: 5}}, _set: {name: "x"}) { returning { salary } } }',
  ])('allow no column that it may not read: %s', (operation) => {
    expect(convert(operation)).toMatchObject({
      query: undefined,
      faults: ['The role user may not use the column salary of people.'],
    });
  });

  it.each([
    ['query A { log { id } }', 'The role user may not use this field of log.'],
    ['mutation A { delete_people(where: {id: {_eq: 1}}) { affected_rows } }', 'from a backend only'],
    ['mutation A { insert_people_one(object: {id: 1}) { id } }', 'A service validates the input'],
    ['query A { odd { id } }', 'A permission has the condition secret'],
    ['query A { odder { id } }', 'The operator _is_null'],
    ['query A { bare { id } }', 'a filter of an unknown form'],
  ])('are kept or reported: %s', (operation, fault) => {
    expect(convert(operation)).toMatchObject({ query: undefined, faults: [expect.stringContaining(fault)] });
  });

  it('allow other root fields, and know the role', () => {
    expect(convert('query A { log_by_pk(id: 1) { id } }').faults).toEqual([]);
    const change = 'mutation A { update_people(where: {id: {_eq: 1}}, _set: {name: "x"}) { affected_rows } }';
    expect(convert(change).query).toMatchObject({
      text: `UPDATE "public"."people" AS "t" SET "name" = 'x' WHERE "t"."id" = 1 AND "t"."role" = 'user'`,
      context: [],
    });
  });
});

describe('foreign keys', () => {
  it.each<[string, string | undefined, string]>([
    ['ALTER TABLE pets DROP CONSTRAINT pets_vet_fkey;', undefined, 'a key that was dropped'],
    [
      'alter table "public"."pets" drop constraint "pets_vet_fkey", add constraint "k" foreign key (vet) references humans (id);',
      'humans',
      'a key that was moved',
    ],
    [
      'ALTER TABLE pets DROP COLUMN vet, ADD COLUMN vet int REFERENCES humans(id);',
      'humans',
      'a column that was made again',
    ],
    ['DROP TABLE toys, people CASCADE;', undefined, 'a table that was dropped'],
    [
      'ALTER TABLE people RENAME TO humans; CREATE TABLE people (id int);',
      'humans',
      'a table that was renamed',
    ],
    [
      'ALTER TABLE pets RENAME CONSTRAINT pets_vet_fkey TO v; ALTER TABLE pets DROP CONSTRAINT v;',
      undefined,
      'a key that was renamed',
    ],
    [
      'ALTER TABLE people RENAME id TO no; ALTER TABLE pets RENAME COLUMN vet TO doctor; ALTER TABLE pets RENAME doctor TO vet;',
      'no',
      'columns that were renamed',
    ],
    [
      "-- ALTER TABLE pets DROP COLUMN vet;\n/* DROP TABLE pets; */ SELECT 'DROP TABLE pets;';",
      'people',
      'what is no statement',
    ],
    [
      'ALTER TABLE pets ADD CONSTRAINT other FOREIGN KEY (vet) REFERENCES humans(id);',
      'several',
      'a second key',
    ],
  ])('are those at the end of the migrations: %s', (text, expected) => {
    const named = ['people', 'humans'].map((name) => ({ table: { name, schema: 'public' } }));
    const into = new Imported('shop');
    const files = [
      {
        name: 'm.json',
        text: JSON.stringify({ sources: [{ name: 'default', kind: 'postgres', tables: [pets, ...named] }] }),
      },
      { name: 'migrations/default/10_b/up.sql', text },
      {
        name: 'migrations/default/9_a/up.sql',
        text: 'CREATE TABLE people (id int PRIMARY KEY);\nCREATE TABLE pets (id int, vet int REFERENCES people(id));',
      },
      { name: 'a.graphql', text: 'query A { pets { vet { id } } }' },
    ];
    importHasura(readHasuraFiles(files), into, 'admin');
    const [fault] = into.faults;
    if (expected === undefined) expect(fault?.detail).toContain('is in no migration');
    else if (expected === 'several')
      expect(fault?.detail).toContain('There are several foreign keys vet of pets');
    else expect(into.queries[0]?.text).toContain(`"${expected}"`);
  });

  it('are those of a dump if there is one', () => {
    const dump = {
      name: 'schema.sql',
      text: 'ALTER TABLE ONLY public.pets ADD CONSTRAINT x FOREIGN KEY (vet) REFERENCES public.people(id);',
    };
    const old = {
      name: 'migrations/vets/1_a/up.sql',
      text: 'CREATE TABLE pets (vet int REFERENCES humans(id));',
    };
    expect(convert('query A { pets { vet { id } } }', [old, dump]).query?.text).toContain(
      '"public"."people"',
    );
  });
});

describe('operations that Hasura refuses', () => {
  it.each([
    'query A { people_by_pk { id } }',
    'mutation A { update_log_by_pk(pk_columns: {}, _set: {name: "x"}) { id } }',
    'mutation A { update_log_by_pk(_set: {name: "x"}) { id } }',
    'mutation A { delete_log_by_pk { id } }',
    'mutation A { delete_log { affected_rows } }',
    'mutation A { update_log(_set: {name: "x"}) { affected_rows } }',
  ])('touch no rows: %s', (operation) => {
    expect(convert(operation)).toMatchObject({
      query: undefined,
      faults: [expect.stringMatching(/has no (key|condition)/)],
    });
  });
});

describe('fields and values', () => {
  it('of one name have the members of both', () => {
    const { query } = convert('query A { pets { id owner { id } owner { id name } id } }');
    expect(query?.text).toContain(
      'SELECT "t0"."id" AS "id", (SELECT row_to_json("r1") FROM (SELECT "t2"."id" AS "id", "t2"."name" AS "name" FROM',
    );
    expect(convert('query A { pets { a: id a: name } }').faults).toEqual([
      'Two different fields have the name a.',
    ]);
  });

  it.each([
    ['query A { pets(where: {tags: {_contains: ["1"]}}) { id } }', 'A list is an array or JSON'],
    [
      'mutation A { update_log(where: {}, _set: {tags: ["1"]}) { affected_rows } }',
      'A list is an array or JSON',
    ],
    [
      'mutation A { update_log(where: {}, _set: {n: 1}) { a: returning { id } b: returning { n } } }',
      'more than its rows and their count',
    ],
  ])('are reported if they would be lost: %s', (operation, fault) => {
    expect(convert(operation)).toMatchObject({ query: undefined, faults: [expect.stringContaining(fault)] });
  });
});

describe('several sources', () => {
  it('keep their tables, relationships and permissions', () => {
    expect(convert('query A { pets { owner { id } } }')).toMatchObject({
      query: {
        source: 'vets',
        text: expect.stringContaining('WHERE "t2"."id" = "t0"."owner" AND "t2"."open" = true'),
      },
      faults: [],
    });
    expect(convert('query A { everyone { id } }').query).toMatchObject({ source: 'default' });
  });

  it('take foreign keys from their own migrations', () => {
    const text = 'CREATE TABLE pets (id int, vet int REFERENCES people(id));';
    const operation = 'query A { pets { vet { id } } }';
    expect(convert(operation, [{ name: 'x/migrations/vets/1_a/up.sql', text }]).faults).toEqual([]);
    expect(convert(operation, [{ name: 'x/migrations/default/1_a/up.sql', text }]).faults).toEqual([
      expect.stringContaining('The foreign key vet of pets is in no migration'),
    ]);
  });

  it.each([
    ['query A { pets { id } everyone { id } }', 'Its fields are in several sources'],
    ['query A { ware_by_pk(id: 1) { id } }', 'not that of mssql'],
    ['query A { bill { id } }', 'bill is no table'],
  ])('are reported where one query cannot hold them: %s', (operation, fault) => {
    expect(convert(operation)).toMatchObject({ query: undefined, faults: [expect.stringContaining(fault)] });
  });

  it('are those of the files that include the tables', () => {
    const files = {
      'm/databases/default/tables/tables.yaml': '- "!include public_pets.yaml"',
      'm/databases/default/tables/public_pets.yaml': 'table: {name: pets, schema: public}',
      'm/databases/vets/tables/tables.yaml': '- table: {name: vet, schema: public}',
      'm/databases/databases.yaml': [
        '- {name: default, kind: postgres, tables: "!include default/tables/tables.yaml"}',
        '- name: vets\n  kind: postgres\n  tables: !include vets/tables/tables.yaml',
      ].join('\n'),
      'm/stray.yaml': 'table: {name: stray, schema: public}',
    };
    const { tables } = readHasuraFiles(Object.entries(files).map(([name, text]) => ({ name, text })));
    expect(tables.map(({ name, source }) => [name, source?.name])).toEqual([
      ['pets', 'default'],
      ['vet', 'vets'],
      ['stray', undefined],
    ]);
  });
});
