/** A CREATE with a body is one statement, and what follows its body is a second one, however the body is written. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import { compileStatement } from '../../src/compile.ts';
import type { Dialect } from '../../src/types.ts';

const compile = (text: string, dialect: Dialect) =>
  compileStatement(text, { dialect, command: text.split(' ')[0] as string, variables: [] });

/** The offset at which the hub finds a second statement; undefined if it accepts the text. */
function second(text: string, dialect: Dialect): number | undefined {
  try {
    compile(text, dialect).bind({ pinnedJson: '', contextJson: '' });
    return undefined;
  } catch (err) {
    const { message, sql } = err as { message: string; sql: { line: number; column: number } };
    expect(message).toBe('A stored query must be one statement. A second one starts here.');
    const lines = text.split('\n');
    return lines.slice(0, sql.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + sql.column - 1;
  }
}

const smuggled = '; DROP TABLE t; END; END IF; END CASE; END LOOP; END WHILE; END FOR; END REPEAT; END';

function expectOne(text: string, dialect: Dialect): void {
  for (const one of [text, `${text};`, `${text} /* x */ ; ;`]) expect(second(one, dialect)).toBe(undefined);
  expect(second(text + smuggled, dialect)).toBe(text.length + 2);
}

const atomic = (body: string) => `CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql BEGIN ATOMIC ${body} END`;

describe('on postgres', () => {
  it.each([
    atomic('SELECT a + 1;'),
    atomic(''),
    atomic('INSERT INTO t VALUES (1); SELECT CASE WHEN a = 1 THEN 2 END; SELECT "end"; SELECT t.end;'),
    atomic("SELECT ';', $$;$$, E'\\';' /* ; */ -- ;\n; SELECT (SELECT 2);"),
    'CREATE OR REPLACE PROCEDURE s.p(begin atomic DEFAULT (1)) SET x TO begin, atomic BEGIN ATOMIC SELECT 1; END',
    'CREATE RULE r AS ON INSERT TO t WHERE NEW.a > 1 DO ALSO (INSERT INTO u VALUES (1); DELETE FROM u)',
    'CREATE RULE r AS ON INSERT TO t DO INSTEAD (SELECT (1); SELECT (2);)',
    'CREATE OR REPLACE RULE r AS ON UPDATE TO t DO (NOTIFY a; NOTIFY b)',
    'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN; RETURN NEW; END $f$',
  ])('%j', (text) => expectOne(text, 'postgres'));

  it.each([
    ['CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1', 'SELECT 2'],
    ['CREATE FUNCTION begin(atomic int) RETURNS int RETURN 1', 'SELECT 1; END'],
    ['CREATE FUNCTION f("BEGIN" int) RETURNS int RETURN "begin" "atomic"', 'SELECT 1; END'],
    ['CREATE FUNCTION f() RETURNS int RETURN (1', 'BEGIN ATOMIC SELECT 1); END'],
    ['CREATE TABLE t (begin int)', 'BEGIN ATOMIC SELECT 1; END'],
    ['CREATE VIEW v AS SELECT begin atomic', 'SELECT 1; END'],
    ['CREATE RULE r AS ON INSERT TO t DO INSTEAD SELECT (1', 'SELECT 2)'],
    ['CREATE RULE r AS ON INSERT TO t DO INSTEAD (SELECT ((1', 'SELECT 2)))'],
    ['CREATE RULE r AS ON INSERT TO t DO (SELECT 1', 'SELECT 2'],
    ['CREATE PROCEDURE p() BEGIN SELECT 1', 'END'],
  ])('%s ends where %s begins', (text, rest) => {
    expect(second(`${text}; ${rest}`, 'postgres')).toBe(text.length + 2);
  });
});

describe.each(['mysql', 'mariadb'] as const)('on %s', (dialect) => {
  it.each([
    'CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END',
    'CREATE OR REPLACE DEFINER = `u`@`%` PROCEDURE IF NOT EXISTS s.p(IN a ENUM("x", ";"), OUT b DECIMAL(9,2)) BEGIN END',
    "CREATE FUNCTION f(a INT) RETURNS VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER COMMENT ';' BEGIN DECLARE x INT; SET x = 1; RETURN x; END",
    'CREATE DEFINER=CURRENT_USER() AGGREGATE FUNCTION f(a INT) RETURNS INT BEGIN LOOP FETCH GROUP NEXT ROW; END LOOP; END',
    'CREATE DEFINER=u@localhost TRIGGER r BEFORE INSERT ON t FOR EACH ROW FOLLOWS q BEGIN SET NEW.a = 1; END',
    'CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY ON COMPLETION PRESERVE DO BEGIN DELETE FROM t; END',
    'ALTER EVENT e DO BEGIN DELETE FROM t; END',
    'CREATE PROCEDURE p() a: BEGIN LEAVE a; END a',
    'CREATE PROCEDURE p() a:BEGIN b:LOOP LEAVE b; END LOOP b; END a',
    'CREATE PROCEDURE p() IF a THEN SELECT 1; ELSEIF (CASE WHEN b THEN 1 END) THEN SELECT 2; ELSE SELECT 3; END IF',
    'CREATE PROCEDURE p() CASE a WHEN 1 THEN SELECT 1; SELECT 2; ELSE BEGIN END; END CASE',
    'CREATE PROCEDURE p() CASE WHEN a THEN CASE WHEN b THEN SELECT CASE WHEN c THEN 1 END; END CASE; END CASE',
    'CREATE PROCEDURE p() REPEAT SET a = REPEAT("x", 3); UNTIL a > 1 END REPEAT',
    'CREATE PROCEDURE p() WHILE a DO SET a = IF(b, 1, 2); END WHILE',
    'CREATE PROCEDURE p() BEGIN DECLARE begin, end INT DEFAULT 1; DECLARE c CURSOR FOR SELECT end FROM t; SET end = begin; SELECT t.end, t.begin FROM t; END',
    "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLSTATE VALUE '23000', 1062, begin, NOT FOUND BEGIN SELECT 1; END; SELECT 2; END",
    'CREATE PROCEDURE p() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET a = 1; IF a THEN DROP TABLE IF EXISTS t; CREATE TABLE IF NOT EXISTS t (a INT); END IF; END',
    'CREATE PROCEDURE p() BEGIN START TRANSACTION; XA BEGIN "x"; XA END "x"; COMMIT; END',
    "CREATE PROCEDURE p() BEGIN SELECT \";END;\", '\\';', `;`; # ;\n-- ; END\n/* ; END */ END",
  ])('%j', (text) => expectOne(text, dialect));

  if (dialect === 'mariadb')
    it.each([
      'CREATE PROCEDURE p() BEGIN NOT ATOMIC FOR i IN 1..3 DO SELECT i; END FOR; END',
      'CREATE PROCEDURE p() FOR r IN (SELECT a FROM t) DO SELECT r.a; END FOR',
    ])('%j', (text) => expectOne(text, dialect));

  it.each([
    ['CREATE PROCEDURE begin() SELECT 1', 'DROP TABLE t; END'],
    ['CREATE PROCEDURE p(begin INT) SELECT 1', 'DROP TABLE t; END'],
    ['CREATE PROCEDURE p() SELECT begin', 'DROP TABLE t; END'],
    ['CREATE PROCEDURE p() COMMENT "BEGIN" SELECT 1', 'DROP TABLE t; END'],
    ['CREATE PROCEDURE p() BEGIN SELECT 1', 'DROP TABLE t'],
    ['CREATE PROCEDURE p() IF a THEN SELECT 1', 'END'],
    ['CREATE PROCEDURE p(a INT', 'DROP TABLE t) BEGIN SELECT 1; END'],
    ['CREATE FUNCTION f() RETURNS begin SELECT 1', 'DROP TABLE t; END'],
    ['CREATE FUNCTION f() RETURNS INT RETURN 1', 'BEGIN END'],
    ['CREATE FUNCTION f() RETURNS CHAR CHARSET begin RETURN 1', 'DROP TABLE t; END'],
    ['CREATE DEFINER=begin@event VIEW v AS SELECT 1', 'DROP TABLE t; END'],
    ['CREATE DEFINER=event@h VIEW v AS SELECT 1', 'CREATE EVENT e ON SCHEDULE AT x DO BEGIN SELECT 1; END'],
    ['CREATE EVENT do ON SCHEDULE AT begin DO SELECT 1', 'DROP TABLE t; END'],
    ['CREATE EVENT e ON SCHEDULE AT do DO SELECT 1', 'BEGIN SELECT 2; END'],
    ['CREATE TRIGGER begin AFTER INSERT ON begin FOR EACH ROW SET @a = 1', 'DROP TABLE t; END'],
    ['CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW FOLLOWS begin SET @a = 1', 'DROP TABLE t; END'],
    ['CREATE TABLE begin (begin INT)', 'BEGIN SELECT 1; END'],
    // The words of names that begin with digits are no words.
    [
      'CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1begin SELECT 1; SELECT 2; END',
      'DROP TABLE t; END',
    ],
    // An `end` in the condition is a column, and so is the `begin` behind what only looks like its THEN.
    [
      'CREATE PROCEDURE p() IF CASE WHEN end THEN begin - 1 END THEN SELECT 1',
      'SELECT 2; END IF; DROP TABLE t; END IF',
    ],
    ['CREATE PROCEDURE p() BEGIN IF t.then THEN begin END', 'DROP TABLE t; END'],
  ])('%s ends where %s begins', (text, rest) => {
    const found = second(`${text}; ${rest}`, dialect);
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThanOrEqual(text.length + 2);
  });

  it('no comment or quote opens or closes a body', () => {
    for (const text of ['/*! BEGIN */', '/*!50003 BEGIN */', '/*M! BEGIN */'])
      expect(() => compile(`CREATE PROCEDURE p() ${text} SELECT 1; DROP TABLE t; END`, dialect)).toThrow(
        /executes comments/,
      );
    for (const text of ['/* BEGIN */', '-- BEGIN\n', '# BEGIN\n', '`BEGIN`', '"BEGIN"']) {
      const whole = `CREATE PROCEDURE p() ${text} SELECT 1; DROP TABLE t; END`;
      expect(second(whole, dialect)).toBe(whole.indexOf('DROP'));
    }
    const open = 'CREATE PROCEDURE p() BEGIN SELECT 1; /* END */';
    expect(second(`${open} SELECT 2`, dialect)).toBe(open.length + 1);
  });
});

it('dollar quotes are refused on MySQL, where the hub does not read them, and are names on MariaDB', () => {
  const text = "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $x$ ' $x$; DROP TABLE t -- '";
  expect(() => compile(text, 'mysql')).toThrow(/dollar quotes/);
  expect(compile('SELECT $a$b', 'mariadb').verb).toBe('SELECT');
});

it.each([
  ['CREATE PROCEDURE p() SELECT :x'],
  ['CREATE OR REPLACE FUNCTION f(a int) RETURNS int BEGIN ATOMIC SELECT :x; END'],
  ['CREATE DEFINER = u@h TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.a = {{x}}'],
  ['ALTER EVENT e DO DELETE FROM t WHERE a = :x'],
])('%s has no value for its variable', (text) => {
  for (const dialect of ['postgres', 'mysql', 'mariadb'] as const)
    expect(() => compile(text, dialect)).toThrow(/^:x has no value when/);
});

it('a table can have the name of what stores statements', () => {
  expect(compile('CREATE TABLE event AS SELECT :x AS a', 'mysql').variables).toEqual(['x']);
});

describe('any body', () => {
  const name = fc.constantFrom(
    'a',
    'begin',
    'end',
    '`if`',
    '1end',
    't.end',
    't.case',
    '"x;"',
    '(begin)',
    '@end',
  );
  const blank = fc.constantFrom(' ', '\n', '/* ; END */', ' -- ; END\n', '\t');
  const label = fc.constantFrom('', 'l: ', 'begin : ', '`;`: ');
  const simple = fc
    .tuple(name, name, blank)
    .map(([a, b, gap]) =>
      fc.constantFrom(
        `SELECT ${a},${gap}${b}`,
        `SET x = CASE WHEN ${a} THEN ${b} ELSE${gap}1 END`,
        `DROP TABLE IF${gap}EXISTS t`,
        `INSERT INTO t VALUES (IF(${a}, 1, REPEAT('x', 2)))`,
        `XA END 'x'`,
        `DECLARE ${/^\w+$/.test(a) ? a : 'v'} INT DEFAULT 1`,
        `DECLARE EXIT HANDLER FOR 1062,${gap}NOT FOUND SET x = ${b}`,
      ),
    )
    .chain((one) => one);
  const { block } = fc.letrec<{ block: string; statement: string }>((tie) => {
    const some = fc
      .array(tie('statement'), { minLength: 1, maxLength: 3 })
      .map((all) => `${all.join('; ')};`);
    return {
      statement: fc.oneof({ maxDepth: 3 }, simple, tie('block')),
      block: fc
        .tuple(label, some, some, name, blank)
        .chain(([l, s, t, n, gap]) =>
          fc.constantFrom(
            `${l}BEGIN${gap}${s} END`,
            `IF ${n} THEN ${s} ELSEIF${gap}${n} THEN ${t} ELSE ${s} END IF`,
            `CASE ${n} WHEN${gap}${n} THEN ${s} ELSE ${t} END CASE`,
            `CASE WHEN ${n} THEN ${s}${gap}END CASE`,
            `${l}LOOP ${s} END LOOP`,
            `${l}WHILE ${n} DO ${s} END WHILE`,
            `${l}REPEAT${gap}${s} UNTIL ${n} END REPEAT`,
          ),
        ),
    };
  });

  it('is read to its end, and no further', () => {
    fc.assert(
      fc.property(block, fc.constantFrom<Dialect>('mysql', 'mariadb'), (body, dialect) =>
        expectOne(`CREATE PROCEDURE p() ${body}`, dialect),
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['blocks in blocks', (n: number) => 'BEGIN '.repeat(n / 6)],
    ['branches', (n: number) => `IF a THEN ${'ELSEIF a THEN '.repeat(n / 14)}`],
    ['cases without WHEN', (n: number) => `BEGIN ${'CASE a '.repeat(n / 7)}`],
    ['semicolons', (n: number) => `BEGIN ${';'.repeat(n)}`],
    ['parentheses', (n: number) => `IF ${'('.repeat(n)}`],
    ['ifs without THEN', (n: number) => `BEGIN ${'IF a;'.repeat(n / 5)}`],
  ])('of many %s is read in time that grows with the length alone', async (_name, body) => {
    const read = (n: number) => {
      try {
        return compile(`CREATE PROCEDURE p() ${body(n)};x`, 'mysql').verb;
      } catch (err) {
        return (err as { code: string }).code;
      }
    };
    expect(read(262_000)).toBe('SQL_REJECTED');
    await expectLinear(read, 262_000);
  });
});
