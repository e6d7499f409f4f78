/** What a procedure hands back: results, OUT parameters and errors after results. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { createResponseWriter } from '../../../src/result/response-writer.ts';
import { ask, connect, operateMysql } from '../../fixture.ts';

const servers: [EngineName, string | undefined][] = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
];

const procedures = {
  hub_two: '() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c UNION ALL SELECT 4, NULL; END',
  hub_empty_first: '() BEGIN SELECT 1 AS a FROM DUAL WHERE FALSE; SELECT 2 AS a; END',
  hub_none: '() BEGIN DO 1; END',
  hub_out:
    '(IN n INT, OUT twice BIGINT, INOUT word TEXT, OUT bytes BLOB) BEGIN SET twice = 2 * n, word = REVERSE(word), bytes = 0x00ff; END',
  hub_utf8_out: '(INOUT word VARCHAR(20) CHARACTER SET utf8mb4) BEGIN DO 1; END',
  hub_latin1_out: '(INOUT word VARCHAR(20) CHARACTER SET latin1) BEGIN DO 1; END',
  hub_rows_and_out: '(OUT n INT) BEGIN SELECT 1 AS a; SET n = 7; END',
  hub_bits_out:
    "(OUT one BIT, OUT few BIT(8), OUT many BIT(64), OUT none BIT(8), INOUT kept BIT(12)) BEGIN SET one = 1, many = ~0; SELECT b'110101' INTO few; END",
  hub_fails: "() BEGIN SELECT 1 AS a; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too late'; END",
  hub_latin1: "() BEGIN SET NAMES latin1; SELECT 'é€' AS t; SET NAMES utf8mb4; END",
  hub_bytes: '() BEGIN SET NAMES latin1; SELECT 1 AS n, 0xe9 AS b; SET NAMES utf8mb4; END',
  hub_many:
    "(n INT) BEGIN WHILE n > 0 DO SELECT n AS a, REPEAT('a', 1000) AS t; SET n = n - 1; END WHILE; END",
};

describe.each(servers)('CALL at %s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const drops = Object.keys(procedures).map((name) => `DROP PROCEDURE IF EXISTS ${name}`);

    beforeAll(async () => {
      const creates = Object.entries(procedures).map(([name, rest]) => `CREATE PROCEDURE ${name}${rest}`);
      await operateMysql(url as string, [...drops, ...creates]);
      connection = await connect(engine, url as string);
    });
    afterAll(async () => {
      connection.close();
      await operateMysql(url as string, drops);
    });

    const call = (text: string, options: object = {}) =>
      ask(connection, `CALL ${text}`, { kind: 'standalone', ...options });
    const all = async (text: string, options: object = {}) =>
      JSON.parse((await call(text, { allResults: true, ...options })).text);

    it('reads no text of an OUT parameter as another one', async () => {
      const text = async (name: string, word: string) => {
        const answer = await call(`${name}(?)`, { params: [word] }).catch(({ code, message }) => [
          code,
          message,
        ]);
        return Array.isArray(answer) ? answer : answer.data;
      };
      expect(await text('hub_utf8_out', 'José')).toEqual([{ word: 'José' }]);
      expect(await text('hub_latin1_out', 'Jose')).toEqual([{ word: 'Jose' }]);
      expect(await text('hub_latin1_out', 'José')).toEqual(
        engine === 'mariadb'
          ? [{ word: 'José' }]
          : ['OUTCOME_UNKNOWN', expect.stringContaining('character set')],
      );
      // In a database in UTF-8, too, bytes in latin1 can be a valid text of UTF-8.
      expect(await text('hub_latin1_out', 'Ã©')).toEqual(
        engine === 'mariadb' ? [{ word: 'Ã©' }] : ['OUTCOME_UNKNOWN', expect.any(String)],
      );
      expect(await text('hub_utf8_out', 'José')).toEqual([{ word: 'José' }]);
    });

    it('knows the character set of the database, in which parameters are by default', async () => {
      const create = 'CREATE PROCEDURE hub_old.hub_out(INOUT word VARCHAR(20)) BEGIN DO 1; END';
      const old = 'CREATE DATABASE hub_old CHARACTER SET latin1';
      await operateMysql(url as string, ['DROP DATABASE IF EXISTS hub_old', old, create]);
      const inOld = await connect(engine, (url as string).replace(/\/[^/]*$/, '/hub_old'));
      const ofText = (params: string[]) =>
        ask(inOld, 'CALL hub_out(?)', { kind: 'standalone', params }).then(
          ({ data }) => data[0]?.word,
          ({ code }) => code,
        );
      // Its bytes in latin1 are a valid text of UTF-8.
      expect(await ofText(['Ã©'])).toBe(engine === 'mariadb' ? 'Ã©' : 'OUTCOME_UNKNOWN');
      expect(await ofText(['e'])).toBe('e');
      inOld.close();
      const elsewhere = ask(connection, 'CALL hub_old.hub_out(?)', { kind: 'standalone', params: ['Ã©'] });
      if (engine === 'mariadb') expect((await elsewhere).data).toEqual([{ word: 'Ã©' }]);
      else await expect(elsewhere).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      await operateMysql(url as string, ['DROP DATABASE hub_old']);
    });

    it('answers the first result, and says that there are others', async () => {
      const marks = { truncated: true, moreResults: true };
      expect(JSON.parse((await call('hub_two()')).text)).toEqual({ data: [{ a: 1 }], ...marks });
      expect(JSON.parse((await call('hub_empty_first()')).text)).toEqual({ data: [], ...marks });
      expect((await call('hub_two()', { format: 'ndjson' })).text).toBe('{"a":1}\n{"truncated":true}\n');
      expect((await call('hub_two()', { format: 'csv' })).outcome.moreResults).toBe(true);
      expect(JSON.parse((await call('hub_none()')).text)).toEqual({ data: [{ affectedRows: 0 }] });
    });

    it('reads no texts that were written in another character set, also if it is restored', async () => {
      await expect(call('hub_latin1()')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      await expect(all('hub_latin1()')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      expect((await call('hub_bytes()')).data).toEqual([{ n: 1, b: '6Q==' }]);
    });

    it('answers all results if asked', async () => {
      const { results, ...marks } = await all('hub_two()');
      expect(marks).toEqual({});
      expect(results).toEqual([
        { columns: [{ name: 'a', type: expect.stringMatching(/int/) }], rows: [{ a: 1 }] },
        {
          columns: ['b', 'c'].map((name) => ({ name, type: expect.stringMatching(/int/) })),
          rows: [
            { b: 2, c: 3 },
            { b: 4, c: null },
          ],
        },
      ]);
      expect((await all('hub_empty_first()')).results.map(({ rows }: { rows: object[] }) => rows)).toEqual([
        [],
        [{ a: 2 }],
      ]);
      const none = { columns: [{ name: 'affectedRows', type: 'bigint' }], rows: [{ affectedRows: 0 }] };
      expect(await all('hub_none()')).toEqual({ results: [none] });
    });

    it('counts the rows of all results against maxRows', async () => {
      const { results, truncated } = await all('hub_two()', { maxRows: 2 });
      expect(truncated).toBe(true);
      expect(results.map(({ rows }: { rows: object[] }) => rows)).toEqual([[{ a: 1 }], [{ b: 2, c: 3 }]]);
    });

    it('answers OUT parameters as a result', async () => {
      const params = [21, null, 'éb', null];
      expect((await call('hub_out(?, ?, ?, ?)', { params })).data).toEqual([
        { twice: 42, word: 'bé', bytes: 'AP8=' },
      ]);
      const { results } = await all('hub_rows_and_out(?)', { params: [null] });
      expect(results.map(({ rows }: { rows: object[] }) => rows)).toEqual([[{ a: 1 }], [{ n: 7 }]]);
    });

    it('answers the bits of an OUT parameter of BIT, which the server sends as digits', async () => {
      const params = [null, null, null, null, 5];
      expect((await call('hub_bits_out(?, ?, ?, ?, ?)', { params })).data).toEqual([
        { one: true, few: '00110101', many: '1'.repeat(64), none: null, kept: '000000000101' },
      ]);
    });

    it('fails if the procedure fails after a result, and keeps the connection', async () => {
      for (const allResults of [false, true]) {
        await expect(call('hub_fails()', { allResults })).rejects.toMatchObject({ code: 'SQL_REJECTED' });
        expect((await ask(connection, 'SELECT 1 AS a')).data).toEqual([{ a: 1 }]);
      }
    });

    it('passes many results to a slow reader in bounded pieces', async () => {
      const chunks: Buffer[] = [];
      let drain = () => {};
      let behind = 0;
      let behindMax = 0;
      const reply = {
        chunk: (bytes: Buffer) => {
          chunks.push(bytes);
          behind += bytes.length;
          behindMax = Math.max(behindMax, behind);
          setTimeout(() => {
            behind = 0;
            drain();
          }, 5);
          return false;
        },
        onDrain: (listener: () => void) => {
          drain = listener;
        },
      };
      const options = { allResults: true, statementTimeoutMs: 60_000 };
      const answer = createResponseWriter({
        format: 'json',
        numbers: 'auto',
        meta: false,
        ...options,
        reply,
      });
      const text = 'CALL hub_many(?)';
      const statement = { key: text, text, params: [3_000], kind: 'standalone' } as const;
      const outcome = await connection.run({ ...statement, params: [3_000] }, answer, options);
      answer.finish(outcome, { queueMs: 0, durationMs: 0 });
      const { results } = JSON.parse(Buffer.concat(chunks).toString());
      expect(results).toHaveLength(3_000);
      expect(results.at(-1).rows).toEqual([{ a: 1, t: 'a'.repeat(1_000) }]);
      // The socket's buffer may be processed after the pause.
      expect(behindMax).toBeLessThan(1_048_576);
    });
  });
});
