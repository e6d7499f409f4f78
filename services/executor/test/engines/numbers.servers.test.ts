/** A number means the same however a caller writes it: `10`, `10.0` and `1e1`, declared or not, alone or in a list. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, connect } from '../fixture.ts';

const servers: { engine: EngineName; url: string | undefined }[] = [
  { engine: 'postgres', url: process.env.POSTGRES_URL },
  { engine: 'mariadb', url: process.env.MARIADB_URL },
  { engine: 'mysql', url: process.env.MYSQL_URL },
];

/** Pairs of which the first is greater. As texts, most of them are not. */
const pairs = [
  ['10.0', '9.0'],
  ['10.0', '9'],
  ['10', '9.5'],
  ['1e1', '9.0'],
  ['1e3', '999'],
  ['1.10', '1.09'],
  ['10.50', '9.50'],
  ['-9.0', '-10.0'],
  ['1e22', '9.0'],
  ['12345678901234567890', '9.0'],
  ['9.0', '1e-7'],
] as const;

describe.each(servers)('numbers on $engine', ({ engine, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const isPostgres = engine === 'postgres';
    const write = (text: string) => ask(connection, text, { kind: 'standalone' });

    beforeAll(async () => {
      connection = await connect(engine, url as string);
      await write('DROP TABLE IF EXISTS hub_numbers');
      await write('CREATE TABLE hub_numbers (id bigint PRIMARY KEY, d decimal(30, 5))');
      for (let n = 0; n < 1_000; n += 100) {
        const rows = Array.from({ length: 100 }, (_, i) => `(${n + i}, ${n + i}.5)`);
        await write(`INSERT INTO hub_numbers VALUES ${rows.join()}`);
      }
      await write(isPostgres ? 'ANALYZE hub_numbers' : 'ANALYZE TABLE hub_numbers');
    });
    afterAll(async () => {
      await write('DROP TABLE hub_numbers');
      connection.close();
    });

    /** Compiled once, as the hub does it. */
    const compile = (text: string, types: Record<string, string | undefined> = {}, command = 'SELECT') => {
      const variables = Object.entries(types).flatMap(([key, type]) =>
        type === undefined ? [] : [{ key, type }],
      );
      const definition = { queryId: text, text, command, variables, source: { engine } };
      const compiled = compileQuery(definition as unknown as QueryDefinition);
      return async (contextJson: string) => {
        const statement = compiled.bind({ pinnedJson: '', contextJson });
        return (await ask(connection, statement.text, { ...statement })).text;
      };
    };
    const rowOf = (text: string) => JSON.parse(text).data[0];

    // PostgreSQL takes variables of which it knows nothing for texts.
    const types = isPostgres ? ['number', 'decimal'] : ['number', 'decimal', undefined];

    it.each(types)('are compared as numbers, declared as %s', async (type) => {
      const run = compile(
        `SELECT CASE WHEN :a > :b THEN 1 END AS x, CASE WHEN GREATEST(:a, :b) = :a THEN 1 END AS g,
          (SELECT u.v = :b FROM (SELECT :a AS v UNION ALL SELECT :b ORDER BY v LIMIT 1) u) AS u`,
        { a: type, b: type },
      );
      for (const [a, b] of pairs) {
        const { x, g, u } = rowOf(await run(`{"a":${a},"b":${b}}`));
        expect({ a, b, x, g, u: Number(u) }).toEqual({ a, b, x: 1, g: 1, u: 1 });
      }
    });

    it.each(['integer', 'bigint'])('are whole in every spelling of JSON, declared as %s', async (type) => {
      const one = compile('SELECT count(*) AS n FROM hub_numbers WHERE id = :a', { a: type });
      for (const a of ['100', '100.0', '1e2', '1.00e2'])
        expect(rowOf(await one(`{"a":${a}}`)), a).toEqual({ n: 1 });
      const listed = compile('SELECT count(*) AS n FROM hub_numbers WHERE id IN (:a)', { a: `${type}[]` });
      expect(rowOf(await listed('{"a":[7.0,8,1e1]}'))).toEqual({ n: 3 });
    });

    it.each(['number', 'decimal', undefined])('find the same rows, declared as %s', async (type) => {
      const equal = compile('SELECT count(*) AS n FROM hub_numbers WHERE d = :a', { a: type });
      for (const a of ['7.5', '7.50', '75e-1', '0.75e1', '7.500000000000000000000000'])
        expect(rowOf(await equal(`{"a":${a}}`)), a).toEqual({ n: 1 });
      const listed = compile('SELECT count(*) AS n FROM hub_numbers WHERE d IN (:a)', {
        a: type && `${type}[]`,
      });
      expect(rowOf(await listed('{"a":[7.50,85e-1,9.5,1e40]}'))).toEqual({ n: 3 });
    });

    if (isPostgres) return;

    describe('of MySQL and MariaDB', () => {
      it.each([
        ['number', '10.0', '10'],
        ['number', '1e3', '1000'],
        ['number', '1.10', '1.1'],
        ['number', '0.30000000000000004', '0.30000000000000004'],
        ['number', '9007199254740993', '9007199254740993'],
        ['number', '12345678901234567890', '12345678901234567890'],
        [undefined, '10.0', '10'],
        [undefined, '1.10', '1.10'],
        [undefined, '12345678901234567890.125', '12345678901234567890.125'],
        ['decimal', '1.10', '1.10'],
        ['decimal', '12345e-2', '123.45'],
      ])('keep their digits in JSON, declared as %s: %s', async (type, sent, written) => {
        const run = compile("SELECT CAST(JSON_OBJECT('a', :a) AS CHAR) AS j", { a: type });
        expect(rowOf(await run(`{"a":${sent}}`))).toEqual({ j: `{"a": ${written}}` });
      });

      it.each(['number', undefined])('use the index of integers, declared as %s', async (type) => {
        const format = engine === 'mysql' ? 'FORMAT=TRADITIONAL ' : '';
        const explain = (condition: string, a: string | undefined) =>
          compile(`EXPLAIN ${format}SELECT * FROM hub_numbers WHERE ${condition}`, { a }, 'EXPLAIN');
        for (const [run, json] of [
          [explain('id = :a', type), '10.0'],
          [explain('id < :a', type), '1.00e1'],
          [explain('id IN (:a)', type && `${type}[]`), '[10.0,20.0,3e1]'],
        ] as const)
          expect(rowOf(await run(`{"a":${json}}`)), json).toMatchObject({ key: 'PRIMARY' });
      });

      it('keep their digits after a call with a double', async () => {
        const run = compile('SELECT :a AS a, :a > 9007199254740992 AS x');
        for (const sent of ['1.5', '9007199254740993', '12345678901234567890']) {
          const { a } = rowOf(await run(`{"a":${sent}}`));
          expect(String(a)).toBe(sent);
        }
      });

      it.each(['1e400', '-1e400', '1e-400'])('that no type can hold are refused: %s', async (sent) => {
        await expect(compile('SELECT :a AS a')(`{"a":${sent}}`)).rejects.toMatchObject({
          code: 'CONTEXT_INVALID',
          errors: [{ path: ['context', 'a'] }],
        });
      });
    });
  });
});
