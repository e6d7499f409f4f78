import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../src/compile.ts';

const dialects: Dialect[] = ['postgres', 'mysql', 'mariadb'];

function refusal(text: string, command = 'SELECT', dialect: Dialect = 'postgres'): unknown {
  try {
    return compileStatement(text, { dialect, command, variables: [] });
  } catch (err) {
    const { code, message, sql, stage, retryable } = err as Record<string, unknown>;
    expect([stage, retryable]).toEqual(['prepare', false]);
    return { code, message, sql };
  }
}
const rejected = (message: string, line = 1, column = 1) => ({
  code: 'SQL_REJECTED',
  message,
  sql: { line, column },
});

const reasons: [reason: string, verbs: string][] = [
  [
    'The hub opens and ends transactions itself, one for each execution.',
    'BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE END ABORT XA',
  ],
  [
    'Connections are shared, so a change to the session would affect other executions.',
    'SET RESET DISCARD USE LOCK UNLOCK LISTEN UNLISTEN NOTIFY FLUSH',
  ],
  ['The hub prepares statements itself.', 'PREPARE EXECUTE DEALLOCATE DECLARE FETCH MOVE CLOSE HANDLER'],
  ['The hub does not run statements that read or write files or streams.', 'COPY LOAD IMPORT'],
  [
    'The hub does not run this kind of statement.',
    'DO KILL SHUTDOWN INSTALL UNINSTALL DELIMITER SECURITY HELP CACHE PURGE CHANGE BINLOG',
  ],
];

it.each(dialects)('refuses a variable whose name has another letter on %s', (dialect) => {
  for (const text of ['SELECT :größe', 'SELECT :ñ', 'SELECT :a語 FROM t'])
    expect(refusal(text, 'SELECT', dialect), text).toEqual(
      rejected('The name of a variable has the letters A to Z, digits and _.', 1, 8),
    );
});

describe('the reason is told', () => {
  it.each(reasons.flatMap(([reason, verbs]) => verbs.split(' ').map((verb) => [verb, reason])))(
    'of %s',
    (verb, reason) => {
      const told = rejected(`${verb} is refused. ${reason}`, 2, 1);
      for (const dialect of dialects) {
        expect(refusal(`-- x\n${verb} x`, 'SELECT', dialect)).toEqual(told);
        expect(refusal(`-- x\n${verb?.toLowerCase()} x`, verb, dialect)).toEqual(told);
      }
    },
  );

  it.each([
    ['', rejected('The text contains no statement.')],
    ['-- x', rejected('The text contains no statement.')],
    [' ;', rejected('The text contains no statement.')],
    ['\n  1', rejected('The text contains no statement.', 2, 3)],
    ['((1))', rejected('The text contains no statement.')],
    ["'SELECT'", rejected('The text contains no statement.')],
    ['WITH a AS (SELECT 1)', rejected('The text contains no statement.')],
    ['WITH a AS (SELECT 1) b', rejected('The text contains no statement.')],
    ['(\nGIBBERISH', rejected('The hub does not run statements that start with GIBBERISH.', 2, 1)],
    [
      'SELECT 1; SELECT 2',
      rejected('A stored query must be one statement. A second one starts here.', 1, 11),
    ],
    ['SELECT 1;;\n;x', rejected('A stored query must be one statement. A second one starts here.', 2, 2)],
    [';SELECT 1', rejected('A stored query must be one statement. A second one starts here.', 1, 2)],
    [
      'SELECT 1\nINTO t',
      rejected('INTO writes the result to a table, a file or a variable. Remove it.', 2, 1),
    ],
  ])('of %j', (text, told) => expect(refusal(text)).toEqual(told));

  it.each([
    ['UPDATE t SET a = 1', 'SELECT', 'an UPDATE', 1],
    ['DELETE FROM t', 'INSERT', 'a DELETE', 1],
    ['INSERT INTO t VALUES (1)', 'WITH', 'an INSERT', 1],
    ['(SELECT 1)', 'CREATE', 'a SELECT', 2],
    ['WITH a AS (SELECT 1) DELETE FROM t', 'WITH', 'a DELETE', 22],
    ['SELECT 1', 'WITH', 'a SELECT', 1],
    ['(WITH a AS (SELECT 1) SELECT 2)', 'WITH', 'a SELECT', 23],
    ['SHOW x', 'DESC', 'a SHOW', 1],
    ['DESCRIBE t', 'SHOW', 'a DESCRIBE', 1],
    ['VALUES (1)', 'TABLE', 'a VALUES', 1],
    ['EXPLAIN SELECT 1', 'SELECT', 'an EXPLAIN', 1],
    ['ALTER TABLE t ADD a int', 'CREATE', 'an ALTER', 1],
    ['OPTIMIZE TABLE t', 'SELECT', 'an OPTIMIZE', 1],
  ])('where %j is not %s', (text, command, article, column) => {
    const verb = article.split(' ')[1];
    const other = verb === 'SELECT' || verb === 'VALUES' ? ', or to CALL if it also writes' : '';
    expect(refusal(text, command)).toEqual({
      code: 'COMMAND_MISMATCH',
      message: `The statement is ${article}, but the command is ${command}. Set the command to ${verb} if that is what you want to run${other}.`,
      sql: { line: 1, column },
    });
  });
});

describe('what looks like it is none', () => {
  it.each([
    ['SELECT 1;', 'SELECT'],
    ['SELECT 1 ; ;', 'SELECT'],
    ["SELECT ';' , 'INTO'", 'SELECT'],
    ['SELECT "into" FROM t', 'SELECT'],
    ['WITH "update" AS (SELECT 1) SELECT 2', 'WITH'],
    ['WITH a AS (DELETE FROM t RETURNING 1) SELECT 2', 'WITH'],
    ['WITH a AS (INSERT INTO t SELECT 1 RETURNING 1) SELECT 2', 'SELECT'],
    ['WITH a AS (MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE) SELECT 2', 'SELECT'],
    ['WITH a AS ((SELECT 1)) VALUES (1)', 'SELECT'],
    ['INSERT INTO t SELECT 1', 'INSERT'],
    ['CREATE TABLE t AS SELECT 1', 'CREATE'],
    ['DESC t', 'DESCRIBE'],
    ['DESCRIBE t', 'DESC'],
  ])('%j as %s', (text, command) => expect(refusal(text, command)).toHaveProperty('kind'));
});
