/** Describes and runs statements with RETURNING, on a server where they can return rows that do not exist. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { createEngines } from '../../src/engines/index.ts';
import { describeQuery } from '../../src/execution/describe.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const url = process.env.POSTGRES18_URL;

describe.skipIf(url === undefined)('NOT NULL under RETURNING (needs POSTGRES18_URL)', () => {
  let connection: Connection;
  const runAll = async (texts: string[]) => {
    for (const text of texts) await ask(connection, text, { kind: 'standalone' });
  };
  const tearDown = ['DROP TABLE IF EXISTS rt_plain, rt_ruled, rt_parts', 'DROP FUNCTION IF EXISTS rt_fill'];

  beforeAll(async () => {
    connection = (await createEngines().postgres.connect(settingsOf('postgres', url as string), {
      dial,
      signal: AbortSignal.timeout(60_000),
    })) as Connection;
    await runAll([
      ...tearDown,
      'CREATE TABLE rt_plain (id int NOT NULL, label text NOT NULL, note text)',
      "CREATE FUNCTION rt_fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.label := 'filled'; RETURN NEW; END $$",
      'CREATE TRIGGER rt_fill BEFORE INSERT ON rt_plain FOR EACH ROW EXECUTE FUNCTION rt_fill()',
      'CREATE TABLE rt_ruled (id int NOT NULL)',
      'CREATE RULE rt_rule AS ON INSERT TO rt_ruled DO INSTEAD INSERT INTO rt_plain VALUES (9) RETURNING NULL::int',
      'CREATE TABLE rt_parts (k int NOT NULL, v int) PARTITION BY LIST (k)',
      'CREATE TABLE rt_part PARTITION OF rt_parts DEFAULT',
    ]);
  });
  afterAll(async () => {
    await runAll(tearDown);
    connection.close();
  });

  it.each<[text: string, notNull: string[], nulls: string[]]>([
    ['INSERT INTO rt_plain VALUES (1, NULL) RETURNING *', ['id', 'label'], ['note']],
    ["UPDATE rt_plain SET note = 'x' RETURNING id, note", ['id'], []],
    ['INSERT INTO rt_parts VALUES (1) RETURNING k, v', ['k'], ['v']],
    [
      'WITH n AS (INSERT INTO rt_plain VALUES (2) RETURNING id, note) SELECT id, note FROM n',
      ['id'],
      ['note'],
    ],
    ['INSERT INTO rt_plain VALUES (3) RETURNING old.id AS a, id AS b', [], ['a']],
    ['DELETE FROM rt_plain RETURNING "new".id AS a', [], ['a']],
    ['INSERT INTO rt_ruled VALUES (1) RETURNING id', [], ['id']],
    [
      'MERGE INTO rt_plain t USING (SELECT 5 AS id) u ON t.id = u.id WHEN NOT MATCHED THEN INSERT VALUES (5) WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING t.id AS a, note',
      [],
      ['note'],
    ],
  ])('%s proves %j', async (text, notNull, nulls) => {
    const command = /WITH/.test(text) ? 'INSERT' : (text.split(' ', 1)[0] as string);
    const definition = {
      queryId: 'q',
      version: 1,
      text,
      command,
      variables: [],
      source: { engine: 'postgres' },
    };
    const described = await describeQuery(
      compileQuery(definition as unknown as QueryDefinition),
      { version: 1, notNull: [] },
      { describe: (form) => connection.describe(form), nowMs: () => 0 },
    );
    expect(described.columns.filter(({ nullable }) => !nullable).map(({ name }) => name)).toEqual(notNull);
    const { data } = await ask(connection, text, { kind: 'write' });
    const rows = data as Record<string, unknown>[];
    const found = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => row[name] === null));
    expect(found).toEqual(nulls);
  });
});
