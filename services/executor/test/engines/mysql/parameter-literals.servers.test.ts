/** Values that MySQL and MariaDB misread as parameters, so that they are literals. See docs/adr/0029-literals.md. */

import { compileStatement } from '@datahub/statement/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const servers = [
  { dialect: 'mysql', url: process.env.MYSQL_URL },
  { dialect: 'mariadb', url: process.env.MARIADB_URL },
] as const;

describe.each(servers)('a literal on $dialect', ({ dialect, url }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect(dialect, url as string);
    });
    afterAll(() => connection.close());

    const read = async (item: string, x: unknown) => {
      const compiled = compileStatement(`SELECT ${item} AS r FROM (SELECT 5 AS id) AS t`, {
        ...{ dialect, command: 'SELECT', variables: [] },
      });
      const { text, ...bound } = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ x }) });
      return (await ask(connection, text, { ...bound, key: `${item} ${bound.key}` })).data[0]?.r;
    };

    it.each([
      '(SELECT MAX(LENGTH(a)) FROM (SELECT :x AS a UNION SELECT 1) d)',
      '(SELECT MAX(LENGTH(a)) FROM (SELECT DISTINCT IF(n = 1, :x, CONCAT(2)) AS a FROM (SELECT 1 AS n UNION SELECT 2) c) d)',
      '(WITH n AS (SELECT :x AS a UNION SELECT 1) SELECT MAX(LENGTH(a)) FROM n)',
    ])('keeps all of a long text in %s', async (item) => {
      for (const length of [10_001, 65_536, 70_000])
        expect(Number(await read(item, 'é'.repeat(length)))).toBe(2 * length);
    });

    it.each([
      ['COUNT(DISTINCT :x)', null, 0],
      ['COUNT(DISTINCT IF(id = 6, :x, NULL))', 5, 0],
      ['COUNT(DISTINCT CASE WHEN id = 6 THEN :x END)', 'a', 0],
      ["COUNT(DISTINCT NULLIF(:x, ''))", '', 0],
      ['COUNT(DISTINCT COALESCE(:x, :x))', null, 0],
      ['BIT_OR(:x)', null, 0],
      ['COUNT(DISTINCT :x)', 'a', 1],
    ])('aggregates %s of %j as the value in the text', async (item, value, expected) => {
      expect(Number(await read(item, value))).toBe(expected);
    });

    it('writes a date that a function makes of a text without a fraction', async () => {
      const at = '2026-03-29 02:30:00';
      expect(await read("CONCAT('', DATE_ADD(:x, INTERVAL 1 HOUR))", at)).toBe('2026-03-29 03:30:00');
      expect(await read("CONCAT('', TIMESTAMP(:x))", at)).toBe(at);
      expect(await read("REPLACE(TIME(:x), ':', '')", at)).toBe('023000');
      expect(await read("CONCAT('', UNIX_TIMESTAMP(:x))", at)).toBe('1774751400');
    });
  });
});
