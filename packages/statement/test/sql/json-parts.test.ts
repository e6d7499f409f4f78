/** Values of the JSON that functions of MySQL and MariaDB make. */

import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../../src/compile.ts';
import { jsonTruth } from '../../src/sql/mysql.ts';

const bind = (
  text: string,
  x: unknown,
  { dialect = 'mysql', type }: { dialect?: Dialect; type?: string },
) => {
  const variables = type === undefined ? [] : [{ key: 'x', type }];
  const compiled = compileStatement(text, { dialect, command: 'SELECT', variables });
  return { compiled, ...compiled.bind({ pinnedJson: '', contextJson: JSON.stringify({ x }) }) };
};

describe('a value of the JSON that a function makes', () => {
  const set = "SELECT JSON_SET(doc, '$.a', :x, '$.b', 1)";

  it.each([
    ['mysql', 'CAST(? AS JSON)', jsonTruth],
    ['mariadb', 'JSON_COMPACT(?)', '(? = TRUE)'],
  ] as const)('is a boolean or JSON on %s', (dialect, json, truth) => {
    const written = (x: unknown, type?: string) =>
      /\$\.a', (.*), '\$\.b'/.exec(bind(set, x, { dialect, ...(type && { type }) }).text)?.[1];
    expect([true, false].map((x) => written(x))).toEqual([truth, truth]);
    expect(written(null, 'boolean')).toBe(truth);
    expect([{ b: 1 }, [1], []].map((x) => written(x))).toEqual([json, json, json]);
    expect([true, null, 'a', 1].map((x) => written(x, 'json'))).toEqual([json, json, json, json]);
    expect(['a', 1, 1.5, null].map((x) => written(x))).toEqual(['?', '?', '?', '?']);
  });

  it('stands in these places', () => {
    for (const text of [
      "SELECT JSON_OBJECT('a', :x)",
      'SELECT JSON_ARRAY(1, :x)',
      "SELECT json_insert(doc, '$.a', 1, '$.b', :x)",
      'SELECT JSON_ARRAYAGG(:x)',
      "SELECT JSON_OBJECTAGG('a', :x)",
      "SELECT JSON_ARRAY_APPEND(doc, '$', :x)",
      'SELECT 1 WHERE :x MEMBER OF (doc)',
    ])
      expect(bind(text, true, {}).text).toContain(jsonTruth);
    for (const text of [
      'SELECT JSON_OBJECT(:x, 1)',
      "SELECT JSON_SET(:x, '$.a', 1), JSON_SET(doc, :x, 1)",
      "SELECT JSON_OBJECT('a', IF(:x, 1, 2), 'b', :x + 1)",
      'SELECT JSON_CONTAINS(doc, :x)',
    ])
      expect(bind(text, true, {}).text).toBe(text.replaceAll(':x', '?'));
  });

  it('has another prepared statement for each form, and no warning that a list is a text', () => {
    const keys = [true, [1], 'a', null].map((x) => bind(set, x, {}).key);
    expect(keys).toEqual(['/b', '/j', '', '']);
    const { compiled } = bind(set, [1], { type: 'integer[]' });
    expect(compiled.warnings()).toEqual([]);
  });

  it('does not move the position of an error', () => {
    const text = "SELECT JSON_OBJECT('a', :x), oops FROM t";
    const { compiled, text: run } = bind(text, true, {});
    const column = run.indexOf('oops') + 1;
    expect(compiled.toStored(run, { line: 1, column })).toEqual({
      line: 1,
      column: text.indexOf('oops') + 1,
    });
  });
});

describe('a boolean that MySQL compares', () => {
  it('can be made JSON, if JSON is beside it', () => {
    const text = 'SELECT 1 WHERE a = :x AND b IN (:x, 2) AND F(:x)';
    expect(bind(text, true, {}).text).toBe('SELECT 1 WHERE a = ? AND b IN (?, 2) AND F(?)');
    expect(bind(text, true, {}).textWith?.(new Map([[0, jsonTruth]]))).toContain(
      `a = ${jsonTruth} AND b IN (?`,
    );
  });
});
