import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

type Row = [command: string | undefined, text: string, saved: string, executed?: string, options?: object];

/** What saving answers, and what executing answers after that: `ok` or a code. */
const shared: Row[] = [
  [undefined, 'SELECT 1 AS a', 'ok', 'ok'],
  ['select', 'SELECT 1 AS a', 'ok', 'ok'],
  ['WITH', 'WITH a AS (SELECT 1 AS a) SELECT a FROM a', 'ok', 'ok'],
  ['WITH', 'WITH a AS (SELECT 1 AS a) (SELECT a FROM a) UNION ALL (SELECT 2) ORDER BY 1', 'ok', 'ok'],
  ['EXPLAIN', 'EXPLAIN SELECT 1', 'ok', 'ok'],
  ['INSERT', 'INSERT INTO scratch (id) VALUES (501)', 'ok', 'ok'],
  ['UPDATE', "UPDATE scratch SET label = 'x' WHERE id = 501", 'ok', 'ok'],
  ['DELETE', 'DELETE FROM scratch WHERE id = 501', 'ok', 'ok'],
  ['CREATE', 'CREATE TABLE commanded (a INT)', 'ok', 'OPTION_REFUSED', { dryRun: true }],
  ['CREATE', 'CREATE TABLE commanded (a INT)', 'ok', 'ok'],
  ['TRUNCATE', 'TRUNCATE TABLE commanded', 'ok', 'OPTION_REFUSED', { maxAffected: 1 }],
  ['TRUNCATE', 'TRUNCATE TABLE commanded', 'ok', 'ok'],
  ['ALTER', 'ALTER TABLE commanded ADD b INT', 'ok', 'ok'],
  ['DROP', 'DROP TABLE commanded', 'ok', 'ok'],
  [undefined, 'DELETE FROM sales', 'COMMAND_MISMATCH'],
  ['DELETE', 'UPDATE sales SET id = 1', 'COMMAND_MISMATCH'],
  ['INSERT', 'SELECT 1 AS a', 'ok', 'ok'],
  ['CALL', 'WITH a AS (SELECT 1 AS a) SELECT a FROM a', 'ok', 'ok'],
  ['CALL', 'SELECT 1 AS a', 'ok', 'OPTION_REFUSED', { maxAffected: 1 }],
  ['CALL', 'SELECT 1 INTO stolen', 'SQL_REJECTED'],
  ['CALL', 'EXPLAIN SELECT 1', 'COMMAND_MISMATCH'],
  ['CREATE', 'SELECT 1', 'COMMAND_MISMATCH'],
  ['SELECT', 'DROP TABLE sales', 'COMMAND_MISMATCH'],
  ['BEGIN', 'BEGIN', 'SQL_REJECTED'],
  ['SET', 'SET x = 1', 'SQL_REJECTED'],
  ['SELECT', 'SELECT 1; DELETE FROM sales', 'SQL_REJECTED'],
  ['SELECT', 'SELECT 1 INTO stolen', 'SQL_REJECTED'],
  ['CREATE TABLE', 'CREATE TABLE commanded (a INT)', 'VALIDATION'],
];

const postgres: Row[] = [
  ['TABLE', 'TABLE sales', 'ok', 'ok'],
  ['WITH', 'WITH a AS (SELECT 1 AS a) (TABLE a)', 'ok', 'ok'],
  ['SELECT', 'WITH a AS (SELECT 1 AS a) (VALUES (1))', 'ok', 'ok'],
  [
    'CREATE',
    'CREATE FUNCTION bodied() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT 2; END',
    'ok',
    'ok',
  ],
  ['SELECT', 'SELECT bodied() AS two', 'ok', 'ok'],
  ['DROP', 'DROP FUNCTION bodied', 'ok', 'ok'],
  [
    'CREATE',
    'CREATE RULE bodied AS ON INSERT TO scratch WHERE false DO ALSO (SELECT 1; SELECT 2)',
    'ok',
    'ok',
  ],
  ['DROP', 'DROP RULE bodied ON scratch', 'ok', 'ok'],
  ['CREATE', 'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; DROP TABLE sales', 'SQL_REJECTED'],
  ['SHOW', 'SHOW server_version', 'ok', 'ok'],
  ['MERGE', 'MERGE INTO scratch t USING sales s ON t.id = s.id + 500 WHEN MATCHED THEN DELETE', 'ok', 'ok'],
  ['REPLACE', 'REPLACE INTO scratch (id) VALUES (1)', 'ok', 'SQL_REJECTED'],
  ['WITH', 'WITH a AS (DELETE FROM sales RETURNING id) SELECT id FROM a', 'ok', 'SQL_REJECTED'],
  ['EXPLAIN', 'EXPLAIN ANALYZE DELETE FROM sales', 'ok', 'SQL_REJECTED'],
  ['VACUUM', 'VACUUM sales', 'ok', 'ok'],
  ['COPY', "COPY sales TO '/tmp/sales'", 'SQL_REJECTED'],
];

const mysql: Row[] = [
  ['SHOW', 'SHOW TABLES', 'ok', 'ok'],
  ['DESC', 'DESCRIBE sales', 'ok', 'ok'],
  ['REPLACE', 'REPLACE INTO scratch (id) VALUES (502)', 'ok', 'ok'],
  ['MERGE', 'MERGE INTO scratch USING sales ON 1 = 1', 'ok', 'SQL_REJECTED'],
  ['OPTIMIZE', 'OPTIMIZE TABLE sales', 'ok', 'ok'],
  ['CHECK', 'CHECK TABLE sales', 'ok', 'ok'],
  ['CREATE', 'CREATE PROCEDURE bodied() BEGIN DECLARE a INT; SET a = 1; SELECT a; END', 'ok', 'ok'],
  ['CALL', 'CALL bodied()', 'ok', 'ok'],
  ['DROP', 'DROP PROCEDURE bodied', 'ok', 'ok'],
  [
    'CREATE',
    'CREATE FUNCTION bodied() RETURNS INT DETERMINISTIC BEGIN SET @a = 1; RETURN 2; END',
    'ok',
    'ok',
  ],
  ['SELECT', 'SELECT bodied() AS two', 'ok', 'ok'],
  ['DROP', 'DROP FUNCTION bodied', 'ok', 'ok'],
  ['CREATE', 'CREATE TRIGGER bodied BEFORE DELETE ON scratch FOR EACH ROW BEGIN END', 'ok', 'ok'],
  ['DROP', 'DROP TRIGGER bodied', 'ok', 'ok'],
  [
    'CREATE',
    'CREATE EVENT bodied ON SCHEDULE AT NOW() + INTERVAL 1 DAY DO BEGIN SELECT 1; SELECT 2; END',
    'ok',
    'ok',
  ],
  ['DROP', 'DROP EVENT bodied', 'ok', 'ok'],
  ['CREATE', 'CREATE PROCEDURE p() BEGIN SELECT 1; END; DROP TABLE sales', 'SQL_REJECTED'],
  ['SELECT', "SELECT id FROM sales INTO OUTFILE '/tmp/sales'", 'SQL_REJECTED'],
  ['SELECT', 'SELECT 1 /*! + 1 */', 'SQL_REJECTED'],
  ['LOAD', "LOAD DATA INFILE '/etc/passwd' INTO TABLE scratch", 'SQL_REJECTED'],
];

describe.each(engines)('commands on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} commands` })));
    sourceId = await createSource(hubId, engine);
  });

  const told = ({ status, body }: { status: number; body: any }) => (status === 200 ? 'ok' : body.code);

  const values = `VALUES ${engine === 'mysql' ? 'ROW(1)' : '(1)'}`;
  it.each<Row>([...shared, ['VALUES', values, 'ok', 'ok'], ...(engine === 'postgres' ? postgres : mysql)])(
    '%s for %s is %s, then %s',
    async (command, query, saved, executed, options) => {
      const stored = await api.post('/v1/queries', {
        hubId,
        sourceId,
        label: 'q',
        query,
        ...(command === undefined ? {} : { command }),
      });
      expect(told(stored)).toBe(saved);
      if (executed === undefined) return;
      const { queryId } = stored.body.config.query;
      const answer = await api.post('/v1/queries/execute', { queryId, ...(options && { options }) });
      expect(told(answer)).toBe(executed);
    },
  );
});
