import { engines } from '@datahub/contract/engines';
import { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, it } from 'vitest';
import { compileStatement } from '../src/compile.ts';
import { outlineOf } from '../src/outline.ts';

const none: ReadonlySet<string> = new Set();
const heads = [
  '',
  '-- a :note\n',
  '/* x :y */ ',
  "WITH a AS (SELECT ':no' AS t) ",
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :top) ',
];
const statements = [
  "SELECT ':no', x FROM t WHERE a = :a -- :no\n AND b = {{ b }} AND a = :a",
  'SELECT * FROM t WHERE id IN (:ids) AND NOT x IN ( {{ more }} )',
  'SELECT "quoted :no", `also :no` FROM t WHERE d = :d',
  "SELECT 'it''s :no', :yes",
  "SELECT 'back\\' , :maybe, '",
  'SELECT x::text, y :: int, :z::date FROM t',
  'SELECT $$ :no $$, $tag$ :no $tag$, :yes',
  'SELECT a[:from:to], b[1:2] FROM t WHERE c = :c',
  'SELECT $1 AS one, :two',
  'SELECT @x := :value',
  '(SELECT 1) UNION (SELECT :u)',
  '((SELECT :deep))',
  'VALUES (:a, :b)',
  'TABLE orders',
  'INSERT INTO t (a) VALUES (:a)',
  "INSERT INTO t (a) SELECT ':no' WHERE :really",
  'UPDATE t SET a = :a WHERE id = :id',
  'DELETE FROM t WHERE id = :id',
  'REPLACE INTO t VALUES (:v)',
  'MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = :a',
  'SHOW TABLES',
  'EXPLAIN SELECT :x',
  'desc t',
  'CALL p(:x)',
  'CREATE TABLE t (a int)',
  'DROP TABLE t',
  'SELECT 1;;',
  'SELECT /*! :hidden */ 1',
  'SELECT 1 # :note\n, :x',
  "SELECT E'\\' :no', :yes",
  "SELECT U&'\\0041 :no', :yes",
  'SELECT :Straße, :täg, :_x1',
  'SELECT time :t, case when :c then 1 end',
  'SELECT "a"":no", :b',
  'SELECT x ? :k FROM t',
  'frobnicate :x',
  'BEGIN',
];
const sql = engines.flatMap((engine) => (engine === 'mongodb' ? [] : engine));
const corpus = sql.flatMap((engine) =>
  heads.flatMap((head) => statements.map((statement) => [engine, head + statement] as const)),
);

const commands = [
  '{"find": "t", "filter": {"x": ":x", "y": "::no", "z": "{{z}}"}}',
  '{"aggregate": "t", "pipeline": [{"$match": {"a": {"$in": ":list"}}}], "cursor": {}}',
  '{ "insert": "t", "documents": [{"a": ":a", "b": "\\u003aescaped"}] }',
  '{"update": "t", "updates": [{"q": {"a": ":a"}, "u": {"$set": {"b": ":b"}}}]}',
  '{"delete": "t", "deletes": [{"q": {"a": "x :no y"}, "limit": 1}]}',
  '{"count": "t", "query": {"a": ":a"}}',
  '{"distinct": "t", "key": "a"}',
];

describe('an outline', () => {
  it('says of every text what the compiler says', () => {
    const compiled = [...corpus, ...commands.map((text) => ['mongodb', text] as const)].flatMap(
      ([engine, text]) => {
        const outline = outlineOf(text, engine, none);
        try {
          const { variables, lists } = compileStatement(text, {
            dialect: engine,
            command: outline.command ?? 'SELECT',
            variables: [],
          });
          expect({ text, names: outline.names, lists: outline.lists }).toEqual({
            text,
            names: variables,
            lists,
          });
          return [text];
        } catch (err) {
          if (!(err instanceof HubError)) throw err;
          expect({ engine, text, code: err.code }).toEqual({ engine, text, code: 'SQL_REJECTED' });
          return [];
        }
      },
    );
    expect(compiled.length).toBeGreaterThan(200);
  });

  it('knows the commands of MongoDB', () => {
    const found = commands.map((text) => outlineOf(text, 'mongodb', none).command);
    expect(found).toEqual(['SELECT', 'SELECT', 'INSERT', 'UPDATE', 'DELETE', 'SELECT', 'SELECT']);
  });

  it('reads each beginning of a text', () => {
    for (const [engine, text] of corpus.filter((_, i) => i % 7 === 0)) {
      const { names } = outlineOf(text, engine, none);
      for (let end = 0; end <= text.length; end++)
        expect(outlineOf(text.slice(0, end), engine, none).names.length).toBeLessThanOrEqual(
          names.length + 1,
        );
    }
    expect(outlineOf("SELECT :a, 'unfinished :b", 'postgres', none)).toMatchObject({
      command: 'SELECT',
      names: ['a'],
    });
    expect(outlineOf('{"find": "t", "filter": {"x": ":x", "y": ":', 'mongodb', none)).toMatchObject({
      command: 'SELECT',
      names: ['x'],
    });
  });

  it('reads a slice of an array as the compiler does, which needs to know what is declared', () => {
    expect(outlineOf('SELECT a[1:n] FROM t', 'postgres', none).names).toEqual([]);
    expect(outlineOf('SELECT a[1:n] FROM t', 'postgres', new Set(['n'])).names).toEqual(['n']);
  });
});
