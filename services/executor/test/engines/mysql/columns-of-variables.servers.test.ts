/** Columns that get their types from the values of variables: MySQL and MariaDB do not know them before. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryDefinition } from '../../../src/definitions/definition.ts';
import { describeQuery } from '../../../src/execution/describe.ts';
import { compileQuery } from '../../../src/execution/prepare.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const servers = [
  { engine: 'mysql', url: process.env.MYSQL_URL },
  { engine: 'mariadb', url: process.env.MARIADB_URL },
] as const;

/** Type, value, and the JSON type of the column that is the variable. */
const kinds: [type: string | undefined, value: unknown, jsonType: string][] = [
  ['integer', 5, 'number|string'],
  ['bigint', 5, 'number|string'],
  ['number', 1.5, 'number|string'],
  ['decimal', '1.50', 'number|string'],
  ['boolean', true, 'number'],
  ['string', 'x', 'string'],
  ['date', '2026-01-01', 'string'],
  ['timestamp', '2026-01-01T00:00:00Z', 'string'],
  ['json', { a: 1 }, 'string'],
  [undefined, 5, 'number|string'],
  [undefined, 'x', 'number|string'],
];

const forms = [
  ...['SELECT DISTINCT :v AS v', 'SELECT (:v) AS v', 'SELECT +:v AS v', 'SELECT (SELECT :v) AS v'],
  ...['SELECT CASE WHEN 1 = 1 THEN :v END AS v', 'SELECT IF(1 = 1, :v, NULL) AS v', 'SELECT MAX(:v) AS v'],
  ...['SELECT IFNULL(:v, :v) AS v', 'SELECT NULLIF(:v, NULL) AS v', 'SELECT GREATEST(:v, :v) AS v'],
  ...[
    'SELECT FIRST_VALUE(:v) OVER () AS v',
    'SELECT :v AS v UNION ALL SELECT :v',
    'SELECT :v AS v UNION SELECT NULL',
  ],
  ...['SELECT * FROM (SELECT :v AS v) q', 'SELECT MIN(v) AS v FROM (SELECT :v AS v) q'],
  ...[
    'WITH q AS (SELECT :v AS v) SELECT v FROM q GROUP BY v',
    'SELECT q.v FROM (SELECT :v AS v UNION SELECT NULL) q',
  ],
];

describe.each(servers)('a column of a variable on $engine', ({ engine, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect(engine, url as string);
    });
    afterAll(() => connection.close());

    const compile = (text: string, type: string | undefined) => {
      const variables = [
        { key: 'v', ...(type && { type }) },
        { key: 'n', type: 'integer' },
      ];
      const definition = { queryId: 'q', version: 1, text, command: 'SELECT', variables, source: { engine } };
      return compileQuery(definition as unknown as QueryDefinition);
    };
    const jsonTypes = async (text: string, type?: string) => {
      const deps = { describe: connection.describe.bind(connection), nowMs: () => 0 };
      const { columns } = await describeQuery(compile(text, type), { version: 1, notNull: [] }, deps);
      return columns.map(({ jsonType }) => jsonType);
    };

    it.each(kinds)('of type %s with %j is %s', async (type, value, jsonType) => {
      expect(await jsonTypes('SELECT :v AS v LIMIT :n', type)).toEqual([jsonType]);
      for (const text of ['SELECT :v AS v', ...forms]) {
        const { key, ...bound } = compile(text, type).bind({
          pinnedJson: '',
          contextJson: JSON.stringify({ v: value }),
        });
        const { data } = await ask(connection, bound.text, { ...bound, key: `${text} ${type} ${key}` });
        const [described = ''] = await jsonTypes(text, type);
        const found = data.map(({ v }) => typeof v).filter((one) => one !== 'object');
        expect([text, described.split('|')]).toEqual([text, expect.arrayContaining(found)]);
      }
    });

    it('knows that what is computed with a variable may be a text', async () => {
      const computed = [
        'COALESCE(:v, 1)',
        'IFNULL(:v, 1)',
        'IF(1 = 1, :v, 1)',
        ':v + 1',
        '-:v',
        'SUM(:v)',
        'ROUND(:v)',
      ];
      for (const item of [...computed, '(SELECT COALESCE(:v, 1))']) {
        const [type = ''] = await jsonTypes(`SELECT ${item} AS v`);
        for (const value of [5, 9007199254740993n, 'x']) {
          const contextJson = `{"v":${typeof value === 'bigint' ? value : JSON.stringify(value)}}`;
          const { key, ...bound } = compile(`SELECT ${item} AS v`, undefined).bind({
            pinnedJson: '',
            contextJson,
          });
          // MySQL refuses a text beside a number.
          const row = ask(connection, bound.text, { ...bound, key: `${item} ${key}` }).catch(() => ({
            data: [],
          }));
          for (const { v } of (await row).data)
            expect([item, type.split('|')]).toEqual([item, expect.arrayContaining([typeof v])]);
        }
      }
      const plain =
        'SELECT 1 AS a, LENGTH(:v) AS b, 5 = :v AS c, YEAR(NOW()) AS d, CAST(:v + 1 AS SIGNED) AS e LIMIT :n';
      if (engine === 'mariadb')
        expect((await jsonTypes(plain)).slice(0, 4)).toEqual(['number', 'number', 'number', 'number']);
    });

    it('leaves other texts as they are described', async () => {
      const text =
        "SELECT 'a' AS a, CONCAT(:v, '%') AS b, COALESCE(:v, 'x') AS c, DATE_FORMAT(:v, '%Y') AS d";
      expect(await jsonTypes(text, 'integer')).toEqual(['string', 'string', 'string', 'string']);
      expect(await jsonTypes('SELECT TRIM(:v) AS a, :v AS b', 'string')).toEqual(['string', 'string']);
    });
  });
});
