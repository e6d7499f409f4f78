/** What errors say to a program: the same conditions at all engines, and names where the server reports them. */

import type { EngineName } from '@datahub/contract/engines';
import { HubError } from '@datahub/service-kit/call/error';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/ports/engine.ts';
import { type AskOptions, ask, connect, operateMysql } from '../fixture.ts';

const parent = 'hub_violated';
const child = `${parent}_child`;
const checked = `${parent}_checked`;
const tearDown = [`DROP TABLE IF EXISTS ${child}, ${parent}`, `DROP PROCEDURE IF EXISTS ${parent}_raise`];
const tables = (end: string) => [
  `CREATE TABLE ${parent} (id INT NOT NULL PRIMARY KEY, label VARCHAR(40) NOT NULL, amount INT,
    CONSTRAINT ${parent}_label UNIQUE (label), CONSTRAINT ${checked} CHECK (amount > 0))${end}`,
  `CREATE TABLE ${child} (parent_id INT, CONSTRAINT ${child}_fk FOREIGN KEY (parent_id) REFERENCES ${parent} (id))${end}`,
  `INSERT INTO ${parent} VALUES (1, 'it''s for key ''x''', 1)`,
  `INSERT INTO ${child} VALUES (1)`,
];
const ofPostgres = [
  ...tearDown,
  ...tables(''),
  `CREATE PROCEDURE ${parent}_raise(forged boolean) LANGUAGE plpgsql AS $$ BEGIN
    IF forged THEN RAISE unique_violation USING MESSAGE = 'no', CONSTRAINT = 'secret', TABLE = 'secret'; END IF;
    RAISE EXCEPTION 'only "5" left' USING HINT = 'order less'; END $$`,
];
const ofMysql = [
  ...tearDown,
  ...tables(' ENGINE = InnoDB'),
  `CREATE PROCEDURE ${parent}_raise(forged BOOLEAN) BEGIN
    IF forged THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = 'a'' for key ''secret'''; END IF;
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'only "5" left'; END`,
];
const servers: [name: string, engine: EngineName][] = [
  ['POSTGRES', 'postgres'],
  ['POSTGRES18', 'postgres'],
  ['MYSQL', 'mysql'],
  ['MARIADB', 'mariadb'],
];

describe.each(servers)('an error of %s', (name, engine) => {
  const url = process.env[`${name}_URL`] as string;
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    const isPostgres = engine === 'postgres';
    let connection: Connection;
    const operate = async (texts: string[]) => {
      if (!isPostgres) return operateMysql(url, texts);
      for (const text of texts) await ask(connection, text, { kind: 'standalone' });
    };
    beforeAll(async () => {
      connection = await connect(engine, url);
      await operate(isPostgres ? ofPostgres : ofMysql);
    });
    afterAll(async () => {
      await operate(tearDown);
      connection.close();
    });

    const faultOf = async (text: string, options: AskOptions = {}) => {
      const err = await ask(connection, text, { kind: 'write', ...options }).catch((err) => err);
      expect(err).toBeInstanceOf(HubError);
      const { state: _, ...fault } = (err as HubError).sql ?? {};
      return { code: (err as HubError).code, ...fault };
    };
    const schema = isPostgres ? 'public' : new URL(url ?? 'x://').pathname.slice(1);
    const place = { schema, table: parent };

    it('names a unique constraint', async () => {
      // MySQL names the table, MariaDB does not.
      const names = engine === 'mariadb' ? {} : engine === 'mysql' ? { table: parent } : place;
      const insert = `INSERT INTO ${parent} VALUES (2, 'it''s for key ''x''', 1)`;
      const violated = { code: 'CONSTRAINT', condition: 'UNIQUE_VIOLATION', constraint: `${parent}_label` };
      expect(await faultOf(insert)).toEqual({ ...violated, ...names });
      expect(await faultOf(insert, { maxAffected: 5 })).toEqual({ ...violated, ...names });
    });

    it('names a foreign key, from both sides', async () => {
      const violated = { code: 'CONSTRAINT', condition: 'FOREIGN_KEY_VIOLATION', constraint: `${child}_fk` };
      const names = { schema, table: child };
      expect(await faultOf(`INSERT INTO ${child} VALUES (77)`)).toEqual({ ...violated, ...names });
      expect(await faultOf(`DELETE FROM ${parent}`)).toEqual({ ...violated, ...names });
    });

    it('names a column that is NOT NULL, given NULL or left out', async () => {
      const violated = { condition: 'NOT_NULL_VIOLATION', columnName: 'label', ...(isPostgres && place) };
      const given = await faultOf(`INSERT INTO ${parent} (id, label) VALUES (3, NULL)`);
      expect(given).toEqual({ code: 'CONSTRAINT', ...violated });
      expect(await faultOf(`INSERT INTO ${parent} (id) VALUES (3)`)).toMatchObject(violated);
    });

    it('names a check', async () => {
      const names = engine === 'mysql' ? {} : place;
      const violated = { code: 'CONSTRAINT', condition: 'CHECK_VIOLATION', constraint: checked, ...names };
      expect(await faultOf(`INSERT INTO ${parent} VALUES (4, 'd', -1)`)).toEqual(violated);
    });

    it('contains the texts of RAISE or SIGNAL only if the query asks for them', async () => {
      const raise = (forged: boolean, errors?: string) =>
        faultOf(`CALL ${parent}_raise(${forged})`, { kind: 'standalone', ...(errors && { errors }) });
      expect(await raise(false)).toEqual({ code: 'SQL_REJECTED', condition: 'RAISED' });
      expect(await raise(false, 'author')).toEqual({
        ...{ code: 'SQL_REJECTED', condition: 'RAISED', message: 'only "5" left' },
        ...(isPostgres && { hint: 'order less' }),
      });
      // The author's code can name anything, values included.
      expect(JSON.stringify(await raise(true))).not.toContain('secret');
    });
  });
});
