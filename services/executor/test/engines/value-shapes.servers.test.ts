/**
 * Every shape of a value in every place: what the hub binds is what the database's own driver binds with an explicit cast,
 * or the call is refused. No shape becomes another value.
 */

import { ExactNumber, parseValue, toJsonText, type Value } from '@datahub/statement/values';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, connect } from '../fixture.ts';

/** As a caller writes them; some are the same value in other words. */
const shapes = [
  ...['null', 'true', '7', '7.0', '70e-1', '-0', '1e2', '0.5', '"7"', '"x"', '"a\\"\\\\,{}"', '""'],
  ...['"[]"', '"{}"', '"{1,2}"', '"\\u005b7\\u005d"', '"true"', '"null"'],
  ...['[]', '[ ]', '[1,2]', '[1.0,2e0]', '["a","b,\\"}"]', '[true]', '[null]', '["NULL",null]', '[[]]'],
  ...['[[1,2],[3,4]]', '[{"a":1}]', '{}', '{ }', '{"a":[1,{"b":null}]}', '[{}]', '[[1],2]'],
];

const define = (text: string, engine: string, type?: string, command = 'SELECT') =>
  compileQuery({
    queryId: `${engine} ${type} ${text}`,
    version: 1,
    text,
    command,
    variables: type === undefined ? [] : [{ key: 'v', type }],
    source: { engine },
  } as unknown as QueryDefinition);

/** The rows, or the code of the error. */
async function run(connection: Connection, query: ReturnType<typeof define>, json: string): Promise<unknown> {
  try {
    const statement = query.bind({ pinnedJson: '', contextJson: `{"v":${json}}` });
    return (await ask(connection, statement.text, { ...statement })).data;
  } catch (err) {
    return (err as { code: string }).code;
  }
}

const noForm = Symbol('no form');

describe.skipIf(process.env.POSTGRES_URL === undefined)(
  'on postgres (needs its URL in the environment)',
  () => {
    let connection: Connection;
    let driver: pg.Client;

    beforeAll(async () => {
      connection = await connect('postgres', process.env.POSTGRES_URL as string);
      driver = new pg.Client(process.env.POSTGRES_URL);
      await driver.connect();
      await driver.query(`
      CREATE DOMAIN shape_doc AS jsonb;
      CREATE DOMAIN shape_ids AS int[] CHECK (true);
      CREATE TYPE shape_pair AS (a int, b text)`);
    });
    afterAll(async () => {
      await driver.query('DROP DOMAIN shape_doc, shape_ids; DROP TYPE shape_pair');
      await driver.end();
      connection.close();
    });

    /** The types of places, with the types of variables that are declared for them. */
    const types: [type: string, is: 'json' | 'array' | 'text' | 'other', declared?: string][] = [
      ['jsonb', 'json', 'json'],
      ['json', 'json', 'json'],
      ['shape_doc', 'json', 'json'],
      ['int[]', 'array', 'integer[]'],
      ['shape_ids', 'array', 'integer[]'],
      ['text[]', 'array', 'string[]'],
      ['jsonb[]', 'array', 'json[]'],
      ['text', 'text', 'string'],
      ['varchar', 'text', 'string'],
      ['int', 'other', 'integer'],
      ['bigint', 'other', 'bigint'],
      ['numeric', 'other', 'decimal'],
      ['float8', 'other', 'number'],
      ['boolean', 'other', 'boolean'],
      ['int4multirange', 'other'],
      ['shape_pair', 'other'],
      ['tsvector', 'other'],
    ];

    /** As a program passes the value: JSON to JSON, arrays to arrays, and numbers with their digits. */
    function forDriver(
      json: string,
      { is, type }: { is: string; type: string },
      isDeclared: boolean,
    ): unknown {
      const toPass = (value: Value, inArray = false): unknown => {
        if (value === null) return null;
        if (is === 'json' || (inArray && type === 'jsonb[]'))
          return typeof value === 'string' && !isDeclared ? value : toJsonText(value);
        if (Array.isArray(value)) return is === 'array' ? value.map((one) => toPass(one, true)) : noForm;
        if (value instanceof ExactNumber) return /int|ids/.test(type) ? Number(value.text) : value.text;
        if (typeof value !== 'object') return value;
        return is === 'text' || (inArray && type === 'text[]') ? toJsonText(value) : noForm;
      };
      return toPass(parseValue(json));
    }

    async function runDriver(text: string, value: unknown): Promise<unknown> {
      if ([value].flat(9).includes(noForm)) return 'CONTEXT_INVALID';
      return driver.query(text, [value]).then(
        ({ rows }) => rows,
        () => 'SQL_REJECTED',
      );
    }

    it.each(types)('%s', async (type, is, declared) => {
      const written = (variable: string) => `SELECT to_json(CAST(${variable} AS ${type}))::text AS v`;
      const undeclared = define(written(':v'), 'postgres');
      const own = define(written(':v'), 'postgres', declared);
      for (const json of shapes) {
        const answer = await run(connection, undeclared, json);
        expect([json, answer]).toEqual([
          json,
          await runDriver(written('$1'), forDriver(json, { is, type }, false)),
        ]);
        const isRefused = answer === 'CONTEXT_INVALID';
        if (json.startsWith('[') && is !== 'array') expect([json, isRefused]).toEqual([json, is !== 'json']);
        if (declared === undefined) continue;
        const declaredAnswer = await run(connection, own, json);
        if (declared !== 'json' && declaredAnswer === 'CONTEXT_INVALID') continue;
        const cast = declared === 'json' ? '$1::jsonb' : '$1';
        const expected = await runDriver(written(cast), forDriver(json, { is, type }, true));
        expect([json, declaredAnswer]).toEqual([json, expected]);
      }
    });

    it('a write keeps up with a column that gets another type', async () => {
      const insert = define(
        'INSERT INTO shape_changes VALUES (:v) RETURNING v::text',
        'postgres',
        undefined,
        'INSERT',
      );
      for (const [type, written] of [
        ['int[]', '{}'],
        ['jsonb', '[]'],
        ['text[]', '{}'],
      ]) {
        await driver.query(`DROP TABLE IF EXISTS shape_changes; CREATE TABLE shape_changes (v ${type})`);
        expect(await run(connection, insert, '[]')).toEqual([{ v: written }]);
      }
      await driver.query('DROP TABLE shape_changes; CREATE TABLE shape_changes (v text)');
      expect(await run(connection, insert, '[]')).toBe('CONTEXT_INVALID');
      expect(await run(connection, insert, '"[]"')).toEqual([{ v: '[]' }]);
      await driver.query('DROP TABLE shape_changes');
    });
  },
);

describe.each([
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const)('on %s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    let driver: mysql.Connection;

    beforeAll(async () => {
      connection = await connect(engine, url as string);
      driver = await mysql.createConnection(url as string);
    });
    afterAll(async () => {
      await driver.end();
      connection.close();
    });

    const ids =
      '(SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 7 UNION ALL SELECT NULL) t';
    const lists = [
      '[]',
      '[ ]',
      '[1]',
      '[1,2]',
      '[2,3,7]',
      '[1.0,20e-1]',
      '["1","2"]',
      '[null]',
      '[1,null]',
      '[true]',
    ];
    const places: [place: string, others: (number | null)[], declared?: string][] = [
      ['IN (:v)', []],
      ['NOT IN (:v)', []],
      ['IN (:v)', [], 'integer[]'],
      ['IN (:v, 7)', [7]],
      ['NOT IN (:v, 7)', [7]],
      ['NOT IN (7, :v)', [7]],
      ['NOT IN (:v, 7)', [7], 'integer[]'],
      ['IN (3, :v, 7, :v)', [3, 7]],
    ];

    it.each(places)(
      'a list in %s beside %j is its elements, declared as %s',
      async (place, others, declared) => {
        const text = (list: string) => `SELECT id FROM ${ids} WHERE id ${list} ORDER BY id`;
        const query = define(text(place), engine, declared);
        for (const json of lists) {
          const answer = await run(connection, query, json);
          const all = [...JSON.parse(json), ...others];
          const negation = place.startsWith('NOT') ? 'NOT ' : '';
          // An empty list holds nothing, so every row is outside of it.
          const [expected] =
            all.length === 0
              ? await driver.query(`SELECT id FROM ${ids} WHERE ${negation}FALSE ORDER BY id`)
              : await driver.query(text(`${negation}IN (?)`), [all]);
          if (declared === undefined || answer !== 'CONTEXT_INVALID')
            expect([json, answer]).toEqual([json, expected]);
        }
      },
    );

    it.each(['= :v', '<> :v', 'LIKE :v', 'BETWEEN 0 AND :v', '= (:v)'])(
      'a list in id %s is refused',
      async (place) => {
        const query = define(`SELECT id FROM ${ids} WHERE id ${place}`, engine);
        for (const json of lists)
          expect([json, await run(connection, query, json)]).toEqual([json, 'CONTEXT_INVALID']);
      },
    );

    if (engine === 'mysql')
      it('a document is compared as JSON if it is declared so', async () => {
        const stored = ['{"a": 1, "b": [true]}', '[1, 2]', '"x"', '5', 'null'];
        const docs = stored.map((doc) => `SELECT CAST('${doc}' AS JSON) AS doc`).join(' UNION ALL ');
        for (const place of [
          'doc = :v',
          ':v = doc',
          'doc IN (:v)',
          'doc IN (:v, :v)',
          'NOT doc <> (:v)',
          'doc <=> :v',
        ]) {
          const query = define(`SELECT doc FROM (${docs}) t WHERE ${place}`, engine, 'json');
          for (const json of ['{"b":[true], "a" : 1}', '"x"', '5'])
            expect([place, json, await run(connection, query, json)]).toEqual([
              place,
              json,
              [{ doc: JSON.parse(json) }],
            ]);
          expect(await run(connection, query, '[2,1]')).toEqual([]);
          expect(await run(connection, query, '"5"')).toEqual([]);
        }
        const many = define(`SELECT doc FROM (${docs}) t WHERE doc IN (:v)`, engine, 'json[]');
        expect(await run(connection, many, '[[1,2],{"b":[true],"a":1}]')).toHaveLength(2);
      });

    it.each([undefined, 'json'])('a document declared as %s is its JSON', async (declared) => {
      const text = (variable: string) => `SELECT CONCAT(JSON_EXTRACT(${variable}, '$')) AS v`;
      const query = define(text(':v'), engine, declared);
      for (const json of shapes) {
        const value = JSON.parse(json);
        // MySQL refuses TRUE for a document. The hub makes it JSON wherever MySQL expects that.
        const isMadeJson = typeof value === 'object' || (engine === 'mysql' && typeof value === 'boolean');
        const isDocument = value !== null && (declared === 'json' || isMadeJson);
        const [rows] = await driver
          .query(text('?'), [isDocument ? toJsonText(parseValue(json)) : value])
          .catch(() => ['SQL_REJECTED']);
        expect([json, await run(connection, query, json)]).toEqual([json, rows]);
      }
    });
  });
});
