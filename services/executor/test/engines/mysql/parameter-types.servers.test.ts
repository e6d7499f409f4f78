/** Texts beside values of another type: MySQL would read them as numbers or dates, with no more than a warning. */

import { compileStatement } from '@datahub/statement/compile';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../../fixture.ts';

const servers = [
  { dialect: 'mysql', url: process.env.MYSQL_URL, gives: 'an error' },
  { dialect: 'mariadb', url: process.env.MARIADB_URL, gives: 'the text' },
] as const;
const rows = 'FROM (SELECT 5 AS id, CAST("2026-01-02 03:04:05" AS DATETIME) AS at) AS t';
const merging = [
  'COALESCE(:x, id)',
  'IFNULL(:x, id)',
  'IF(id = 5, :x, id)',
  'CASE WHEN id = 5 THEN :x WHEN id = 6 THEN 1 ELSE id END',
  'CASE WHEN id = 6 THEN id ELSE :x END',
  'NULLIF(:x, id)',
  'COALESCE(:x, at)',
];

describe.each(servers)('a text beside another value on $dialect', ({ dialect, url, gives }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect(dialect, url as string);
    });
    afterAll(() => connection.close());

    const read = (item: string, value: unknown) => readJson(item, JSON.stringify(value));
    const readJson = async (item: string, value: string) => {
      const compiled = compileStatement(`SELECT ${item} AS r ${rows}`, {
        ...{ dialect, command: 'SELECT', variables: [] },
      });
      const contextJson = `{"x":${value}}`;
      const { text, ...bound } = compiled.bind({ pinnedJson: '', contextJson });
      return (await ask(connection, text, { ...bound, key: `${item} ${bound.key}` })).data[0]?.r;
    };

    it.each(merging)(`gives ${gives} in %s, and no number or date made of it`, async (item) => {
      if (gives === 'the text') expect(await read(item, 'abc')).toBe('abc');
      else
        await expect(read(item, 'abc')).rejects.toMatchObject({
          code: 'CONTEXT_INVALID',
          errors: [{ path: ['context', 'x'], detail: expect.stringContaining('write CAST(:x AS CHAR)') }],
        });
      // The next run has the prepared statement.
      expect(await read(item, null)).not.toBe('abc');
      expect(String(await read(item, item.includes('at)') ? '2026-05-06' : '7'))).toMatch(
        /^(7|2026-05-06.*)$/,
      );
      expect(await read(item.replace(':x', 'CAST(:x AS CHAR)'), 'abc')).toBe('abc');
    });

    it('gives integers as they are, whatever another call sent before', async () => {
      for (const other of ['12345678901234567890.5', '0.5', '"7"']) {
        expect(await read('COALESCE(:x, 0)', 7)).toBe(7);
        await readJson('COALESCE(:x, 0)', other);
        expect(await read('COALESCE(:x, 0)', 7)).toBe(7);
      }
    });

    it('takes the type of a changed column a minute later', async () => {
      const operate = (...texts: string[]) => operateMysql(url as string, texts);
      await operate(
        'DROP TABLE IF EXISTS hub_changed_types',
        'CREATE TABLE hub_changed_types (id int)',
        'INSERT INTO hub_changed_types VALUES (5)',
      );
      const changed = 'SELECT COALESCE(:x, id) AS r FROM hub_changed_types';
      const compiled = compileStatement(changed, { dialect, command: 'SELECT', variables: [] });
      const { text, ...bound } = compiled.bind({ pinnedJson: '', contextJson: '{"x":"abc"}' });
      const readText = async () => (await ask(connection, text, bound)).data;
      if (dialect === 'mysql') await expect(readText()).rejects.toMatchObject({ code: 'CONTEXT_INVALID' });
      else expect(await readText()).toEqual([{ r: 'abc' }]);
      await operate('ALTER TABLE hub_changed_types MODIFY id varchar(10)');
      const now = performance.now.bind(performance);
      const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
      try {
        expect(await readText()).toEqual([{ r: 'abc' }]);
        expect(await readText()).toEqual([{ r: 'abc' }]);
      } finally {
        later.mockRestore();
      }
      await operate('DROP TABLE hub_changed_types');
    });

    it('compares texts with numbers as before, and binds numbers as they are', async () => {
      expect(await read('id = :x', 'abc')).toBe(0);
      expect(await read('COALESCE(:x, id)', 1.5)).toBe(1.5);
      expect(await read("COALESCE(:x, 'b')", 'abc')).toBe('abc');
    });
  });
});
