/** What is said of a write that was stopped or failed: it had no effect only if its server undid all of it. */

import type { EngineName } from '@datahub/contract/engines';
import { Deadlines } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processList } from '../../../../tests/support/databases.ts';
import { withCancellation } from '../../src/execution/cancellation.ts';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../fixture.ts';

/** `begun` counts what shows that the first row, if any, is written. None of the statements would ever end. */
interface Write {
  kind: Statement['kind'];
  table: string;
  text: string;
  begun: string;
  leavesRows: boolean;
}

const table = 'hub_stopped';
const setUp = (engine: string) =>
  engine === 'postgres'
    ? [
        `CREATE TABLE ${table} (id INT)`,
        `CREATE PROCEDURE ${table}_call() LANGUAGE plpgsql AS
          'BEGIN INSERT INTO ${table} VALUES (1); COMMIT; PERFORM pg_sleep(100000); END'`,
        `CREATE PROCEDURE ${table}_fails() LANGUAGE plpgsql AS
          'BEGIN INSERT INTO ${table} VALUES (1); COMMIT; PERFORM 1 / 0; END'`,
      ]
    : [
        `CREATE TABLE ${table} (id INT) ENGINE = InnoDB`,
        `CREATE TABLE ${table}_plain (id INT) ENGINE = MyISAM`,
        `CREATE PROCEDURE ${table}_call() BEGIN DECLARE n BIGINT DEFAULT 0; INSERT INTO ${table} VALUES (1);
          WHILE n < 1000000000000 DO SET n = n + 1; END WHILE; END`,
        `CREATE PROCEDURE ${table}_fails() BEGIN INSERT INTO ${table} VALUES (1); SIGNAL SQLSTATE '45000'; END`,
      ];
const tearDown = (engine: string) => [
  `DROP TABLE IF EXISTS ${table}${engine === 'postgres' ? '' : `, ${table}_plain`}`,
  `DROP PROCEDURE IF EXISTS ${table}_call`,
  `DROP PROCEDURE IF EXISTS ${table}_fails`,
];

const call: Write = {
  kind: 'standalone',
  table,
  text: `CALL ${table}_call()`,
  begun: `SELECT COUNT(*) AS n FROM ${table}`,
  leavesRows: true,
};
const sleeping = (engine: string) =>
  `SELECT COUNT(*) AS n FROM ${processList(engine)} WHERE state = 'User sleep' AND info LIKE '%${table}%'`;
const slowly = 'SELECT 1 + SLEEP((n - 1) * 100000) FROM (SELECT 1 AS n UNION ALL SELECT 2) AS t';
const insert = { kind: 'write', table, leavesRows: false } as const;
const ofMysql = (engine: string): Write[] => {
  const sleeps = { ...insert, begun: sleeping(engine) };
  return [
    { ...sleeps, text: `INSERT INTO ${table} ${slowly}` },
    { ...sleeps, table: `${table}_plain`, text: `INSERT INTO ${table}_plain ${slowly}`, leavesRows: true },
    call,
  ];
};
const writes: Record<string, Write[]> = {
  postgres: [
    {
      ...insert,
      text: `INSERT INTO ${table} SELECT n FROM generate_series(1, 2) AS n, pg_sleep((n - 1) * 100000)`,
      begun: `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%${table}%'`,
    },
    call,
  ],
  mysql: ofMysql('mysql'),
  mariadb: ofMysql('mariadb'),
};

describe.each(Object.entries(writes))('at %s', (engine, all) => {
  const url = process.env[`${engine.toUpperCase()}_URL`];
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    const open = () => connect(engine as EngineName, url as string);
    let operator: Connection;
    const operate = async (texts: string[]) => {
      if (engine !== 'postgres') return operateMysql(url as string, texts);
      for (const text of texts) await ask(operator, text, { kind: 'standalone' });
    };
    const count = async (text: string) => Number((await ask(operator, text)).data[0]?.n);
    beforeAll(async () => {
      operator = await open();
      await operate([...tearDown(engine), ...setUp(engine)]);
    });
    afterAll(async () => {
      await operate(tearDown(engine));
      operator.close();
    });

    it('a failed CALL may leave rows, and a failed INSERT leaves none', async () => {
      const connection = await open();
      const fail = async (kind: Statement['kind'], text: string) => {
        const { partial = false, retryable } = await ask(connection, text, { kind }).catch((err) => err);
        return { partial, retryable };
      };
      const failing = engine === 'postgres' ? '1 / (n - 2)' : 'POW(n, 999) * 1e308';
      expect(await fail('standalone', `CALL ${table}_fails()`)).toEqual({ partial: true, retryable: false });
      const insertion = `INSERT INTO ${table} SELECT ${failing} FROM (SELECT 1 AS n UNION ALL SELECT 2) AS t`;
      expect(await fail('write', insertion)).toEqual({ partial: false, retryable: false });
      connection.close();
    });

    it.each(all)('the stopped $text leaves rows: $leavesRows', async ({ kind, text, begun, ...write }) => {
      const connection = await open();
      await ask(operator, `DELETE FROM ${write.table}`, { kind: 'write' });
      const caller = new AbortController();
      const now = () => performance.now();
      const deadlines = new Deadlines();
      const bounds = { connection, signal: caller.signal, deadlineAt: Infinity, now, deadlines };
      const failure = withCancellation(ask(connection, text, { kind }), bounds).catch((err) => err);
      await expect.poll(() => count(begun)).toBeGreaterThan(0);
      caller.abort();
      const { code, retryable } = await failure;
      connection.close();
      const hasRows = (await count(`SELECT COUNT(*) AS n FROM ${write.table}`)) > 0;
      expect([hasRows, code, retryable]).toEqual(
        write.leavesRows ? [true, 'OUTCOME_UNKNOWN', false] : [false, 'CANCELLED', undefined],
      );
    });
  });
});
