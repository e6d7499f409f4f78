/** Which command a statement takes, and what it then is: every statement the hub knows, under every command. */

import { describe, expect, it } from 'vitest';
import { compileStatement } from '../../src/compile.ts';
import type { Dialect, StatementKind } from '../../src/types.ts';

const commands = [
  ...['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW', 'EXPLAIN', 'DESCRIBE', 'DESC'],
  ...[
    'INSERT',
    'UPDATE',
    'DELETE',
    'REPLACE',
    'MERGE',
    'CALL',
    'CREATE',
    'ALTER',
    'DROP',
    'TRUNCATE',
    'RENAME',
  ],
  ...[
    'COMMENT',
    'GRANT',
    'REVOKE',
    'VACUUM',
    'ANALYZE',
    'REINDEX',
    'CLUSTER',
    'REFRESH',
    'OPTIMIZE',
    'REPAIR',
  ],
  ...['CHECK', 'CHECKSUM', 'CHECKPOINT', 'SET', 'BEGIN', 'COPY', 'NOTHING'],
];

const postgres: Dialect[] = ['postgres'];
const mysql: Dialect[] = ['mysql', 'mariadb'];
const all: Dialect[] = [...postgres, ...mysql];

/** A statement, the commands that agree with it, and how it is then run. */
const taken: [text: string, dialects: Dialect[], agreeing: string[], kind: StatementKind][] = [
  ['SELECT 1', all, ['SELECT'], 'read'],
  ['select 1;', all, ['SELECT'], 'read'],
  ['((SELECT 1))', all, ['SELECT'], 'read'],
  ['(SELECT 1) UNION (SELECT 2) ORDER BY 1', all, ['SELECT'], 'read'],
  ['/* DELETE */ -- DELETE\n SELECT 1', all, ['SELECT'], 'read'],
  ['SELECT 1 FOR UPDATE', all, ['SELECT'], 'read'],
  ['WITH a AS (SELECT 1) SELECT * FROM a', all, ['SELECT', 'WITH'], 'read'],
  ['WITH RECURSIVE a (n) AS (SELECT 1) SELECT * FROM a', all, ['SELECT', 'WITH'], 'read'],
  ['WITH "select" AS (SELECT 1) TABLE "select"', postgres, ['SELECT', 'WITH', 'TABLE'], 'read'],
  ['WITH a AS (INSERT INTO t VALUES (1) RETURNING 1) SELECT * FROM a', postgres, ['SELECT', 'WITH'], 'read'],
  ['VALUES (1), (2)', all, ['SELECT', 'VALUES'], 'read'],
  ['TABLE t', all, ['SELECT', 'TABLE'], 'read'],
  ['SHOW server_version', postgres, ['SHOW'], 'read'],
  ['SHOW TABLES', mysql, ['SHOW'], 'read'],
  ['EXPLAIN SELECT 1', all, ['EXPLAIN'], 'read'],
  ['EXPLAIN ANALYZE DELETE FROM t', postgres, ['EXPLAIN'], 'read'],
  ['DESCRIBE t', mysql, ['DESCRIBE', 'DESC'], 'read'],
  ['DESC t', mysql, ['DESCRIBE', 'DESC'], 'read'],
  ['INSERT INTO t VALUES (1)', all, ['INSERT'], 'write'],
  ['INSERT INTO t SELECT 1', all, ['INSERT'], 'write'],
  ['WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a', all, ['INSERT'], 'write'],
  ['UPDATE t SET a = (SELECT 1)', all, ['UPDATE'], 'write'],
  ['/* hi */ update t set a = 1', all, ['UPDATE'], 'write'],
  ['DELETE FROM t', all, ['DELETE'], 'write'],
  ['WITH a AS (SELECT 1) DELETE FROM t USING a', postgres, ['DELETE'], 'write'],
  ['REPLACE INTO t VALUES (1)', mysql, ['REPLACE'], 'write'],
  ['MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE', postgres, ['MERGE'], 'write'],
  ['CALL p()', all, ['CALL'], 'standalone'],
  ['CREATE TABLE t (a int)', all, ['CREATE'], 'standalone'],
  ['CREATE TABLE t AS SELECT 1', all, ['CREATE'], 'standalone'],
  ['ALTER TABLE t ADD b int', all, ['ALTER'], 'standalone'],
  ['DROP TABLE t', all, ['DROP'], 'standalone'],
  ['TRUNCATE t', all, ['TRUNCATE'], 'standalone'],
  ['RENAME TABLE t TO u', mysql, ['RENAME'], 'standalone'],
  ["COMMENT ON TABLE t IS 'x'", postgres, ['COMMENT'], 'standalone'],
  ['GRANT SELECT ON t TO u', all, ['GRANT'], 'standalone'],
  ['REVOKE SELECT ON t FROM u', all, ['REVOKE'], 'standalone'],
  ['VACUUM t', postgres, ['VACUUM'], 'standalone'],
  ['ANALYZE t', all, ['ANALYZE'], 'standalone'],
  ['REINDEX TABLE t', postgres, ['REINDEX'], 'standalone'],
  ['CLUSTER t', postgres, ['CLUSTER'], 'standalone'],
  ['REFRESH MATERIALIZED VIEW v', postgres, ['REFRESH'], 'standalone'],
  ['CHECKPOINT', postgres, ['CHECKPOINT'], 'standalone'],
  ['OPTIMIZE TABLE t', mysql, ['OPTIMIZE'], 'standalone'],
  ['REPAIR TABLE t', mysql, ['REPAIR'], 'standalone'],
  ['CHECK TABLE t', mysql, ['CHECK'], 'standalone'],
  ['CHECKSUM TABLE t', mysql, ['CHECKSUM'], 'standalone'],
];

/** Refused under every command. */
const refused: [dialects: Dialect[], texts: string[]][] = [
  [all, ['BEGIN', 'START TRANSACTION', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', 'RELEASE SAVEPOINT a']],
  [postgres, ['END', 'ABORT', "PREPARE TRANSACTION 'a'", "COMMIT PREPARED 'a'", "ROLLBACK PREPARED 'a'"]],
  [mysql, ["XA START 'a'", "XA COMMIT 'a'", 'BEGIN NOT ATOMIC SELECT 1; END']],
  [all, ['SET a = 1', 'SET SESSION a = 1', 'LOCK TABLE t']],
  [postgres, ['SET ROLE a', 'RESET ALL', 'DISCARD ALL', 'LISTEN a', 'UNLISTEN *', 'NOTIFY a']],
  [mysql, ['USE a', 'UNLOCK TABLES', 'FLUSH TABLES', 'SET @a = 1', 'SET STATEMENT a = 1 FOR SELECT 1']],
  [all, ["PREPARE a FROM 'SELECT 1'", 'EXECUTE a', 'DEALLOCATE a']],
  [postgres, ['DECLARE a CURSOR FOR SELECT 1', 'FETCH a', 'MOVE a', 'CLOSE a']],
  [mysql, ['HANDLER t OPEN', "EXECUTE IMMEDIATE 'SELECT 1'"]],
  [postgres, ["COPY t TO PROGRAM 'x'", 'COPY t FROM STDIN', 'IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c']],
  [mysql, ["LOAD DATA INFILE 'x' INTO TABLE t", "IMPORT TABLE FROM 'x'"]],
  [postgres, ["DO 'BEGIN END'", 'SECURITY LABEL ON TABLE t IS NULL']],
  [mysql, ['DO SLEEP(9)', 'KILL 1', 'SHUTDOWN', "INSTALL PLUGIN a SONAME 'x'", 'DELIMITER $$', 'HELP a']],
  [mysql, ['CACHE INDEX t IN a', 'PURGE BINARY LOGS', 'CHANGE MASTER TO a = 1', "BINLOG 'x'"]],
  [
    all,
    ['', ';', '-- nothing', '/* nothing */', '()', '1', "'SELECT 1'", 'WITH a AS (SELECT 1)', 'GIBBERISH'],
  ],
  [all, ['SELECT 1; SELECT 2', 'SELECT 1; DROP TABLE t', ';SELECT 1', 'DELETE FROM t; DELETE FROM t']],
];

/** Reads that would leave something; INTO is no part of any. */
const leaving: [dialects: Dialect[], texts: string[]][] = [
  [all, ['SELECT 1 INTO t', 'SELECT * INTO t FROM s', 'WITH a AS (SELECT 1) SELECT * INTO t FROM a']],
  [mysql, ["SELECT 1 INTO OUTFILE '/tmp/x'", "SELECT 1 INTO DUMPFILE '/tmp/x'", 'SELECT 1 INTO @x']],
  // To MySQL a hint goes on past what ends a comment where that is in quotes.
  [mysql, ['`', "'", '"'].map((q) => `SELECT /*+ QB_NAME(${q}a*/${q}) */ 1 INTO OUTFILE '/tmp/x' -- ${q}`)],
  // Names that look like the verbs that INTO may follow.
  [
    mysql,
    ['SELECT 1 merge', 'SELECT t.insert', 'SELECT @insert', 'SELECT 1insert', 'SELECT t.1replace']
      .concat(['EXPLAIN SELECT @insert', 'EXPLAIN ANALYZE SELECT t.replace', 'TABLE 1insert'])
      .map((text) => `${text} INTO OUTFILE '/tmp/x'`),
  ],
];

const spread = (rows: [Dialect[], string[]][]) =>
  rows.flatMap(([dialects, texts]) =>
    dialects.flatMap((dialect) => texts.map((text) => ({ dialect, text }))),
  );

function judge(text: string, dialect: Dialect, command: string): string {
  try {
    return compileStatement(text, { dialect, command, variables: [] }).kind;
  } catch (err) {
    return (err as { code: string }).code;
  }
}

const writing = ['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'MERGE', 'CALL'];

describe.each(all)('on %s', (dialect) => {
  const own = taken.filter(([, dialects]) => dialects.includes(dialect));

  it.each(own)('%j', (text, _dialects, agreeing, kind) => {
    // A command that writes also accepts a text that reads, and runs it as a write.
    const mayWrite = agreeing.includes('SELECT') ? writing : [];
    for (const command of commands) {
      const accepted = agreeing.includes(command) ? kind : mayWrite.includes(command) && 'write';
      expect([command, judge(text, dialect, command)]).toEqual([command, accepted || 'COMMAND_MISMATCH']);
    }
  });
});

it.each(spread(refused))('$dialect refuses $text under every command', ({ dialect, text }) => {
  for (const command of commands) expect(judge(text, dialect, command)).toBe('SQL_REJECTED');
});

it.each(spread(leaving))('$dialect refuses $text', ({ dialect, text }) => {
  const isExplain = text.startsWith('EXPLAIN');
  for (const command of isExplain ? ['EXPLAIN'] : ['SELECT', ...writing])
    expect([command, judge(text, dialect, command)]).toEqual([command, 'SQL_REJECTED']);
});

it.each(spread([[all, ['SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1', 'SELECT 1 /* + "quoted" */']]]))(
  '$dialect takes $text',
  ({ dialect, text }) => expect(judge(text, dialect, 'SELECT')).toBe('read'),
);

it.each(['EXPLAIN INSERT', 'DESC REPLACE', 'EXPLAIN FORMAT = JSON INSERT'])('MySQL explains %s', (text) => {
  for (const dialect of mysql)
    expect(judge(`${text} INTO t VALUES (1)`, dialect, commandOf(text))).toBe('read');
});

const commandOf = (text: string) => text.split(' ')[0] as string;

describe('a write', () => {
  const uncounted = (text: string, command: string, dialect: Dialect = 'postgres') =>
    compileStatement(text, { dialect, command, variables: [] }).uncounted;

  it.each([
    ['WITH a AS (DELETE FROM t RETURNING n) INSERT INTO u SELECT n FROM a', 'INSERT'],
    ['WITH a AS (SELECT 1), b AS NOT MATERIALIZED (UPDATE t SET n = 1) DELETE FROM t', 'DELETE'],
    ['WITH a(n) AS MATERIALIZED (/* */ insert INTO t VALUES (1) RETURNING n) UPDATE t SET n = 1', 'UPDATE'],
    ['INSERT INTO u WITH a AS (DELETE FROM t RETURNING n) SELECT n FROM a', 'INSERT'],
    ['WITH a AS (WITH b AS (SELECT 1) DELETE FROM t RETURNING n) INSERT INTO u SELECT n FROM a', 'INSERT'],
    ['SELECT write_rows()', 'CALL'],
  ])('%s touches rows that are not counted', (text, command) => {
    expect(uncounted(text, command)).toBe(true);
  });

  it.each([
    ['WITH a AS (SELECT n FROM t) INSERT INTO u SELECT n FROM a', 'INSERT'],
    ['INSERT INTO u ("update", n) VALUES (\'AS (DELETE\', 1)', 'INSERT'],
    ['DELETE FROM t WHERE n IN (SELECT n FROM u) -- AS (DELETE', 'DELETE'],
  ])('%s touches none', (text, command) => {
    expect(uncounted(text, command)).toBe(false);
  });
});

it.each(["ANALYZE SELECT 1 INTO OUTFILE '/tmp/x'", "ANALYZE FORMAT=JSON SELECT 1 INTO DUMPFILE '/tmp/x'"])(
  'writes no file on MariaDB: %s',
  (text) => expect(judge(text, 'mariadb', 'ANALYZE')).toBe('SQL_REJECTED'),
);

it('may analyze an INSERT on MariaDB', () => {
  expect(judge('ANALYZE INSERT INTO t VALUES (1)', 'mariadb', 'ANALYZE')).toBe('standalone');
});
