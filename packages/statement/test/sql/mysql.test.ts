import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../../src/compile.ts';

const bind = (text: string, json: string, dialect: Dialect, type: string) =>
  compileStatement(text, { dialect, command: 'SELECT', variables: [{ key: 'x', type }] }).bind({
    pinnedJson: '',
    contextJson: `{"x":${json}}`,
  }).params;

describe('a variable declared as', () => {
  it.each(['mysql', 'mariadb'] as const)('timestamp with a zone is bound in UTC on %s', (dialect) => {
    const at = '2026-01-01T00:30:00.5+02:00';
    const utc = '2025-12-31 22:30:00.5';
    const params = (text: string, x: unknown, type: string) => bind(text, JSON.stringify(x), dialect, type);
    expect(params('SELECT :x', at, 'timestamp')).toEqual([utc]);
    expect(params('SELECT 1 WHERE a IN (:x)', [at, null], 'timestamp[]')).toEqual([utc, null]);
    expect(params('SELECT :x', at, 'string')).toEqual([at]);
    expect(bind('SELECT :x', JSON.stringify(at), 'postgres', 'timestamp')).toEqual([at]);
  });

  it.each(['mysql', 'mariadb'] as const)('bigint and decimal are bound as such on %s', (dialect) => {
    const params = (text: string, json: string, type: string) => bind(text, json, dialect, type);
    const long = '9'.repeat(60);
    for (const [type, json, bound] of [
      ['bigint', '"9223372036854775807"', 9_223_372_036_854_775_807n],
      ['bigint', '-9223372036854775808', -9_223_372_036_854_775_808n],
      ['bigint', '"9223372036854775808"', '9223372036854775808'],
      ['bigint', '5', 5],
      ['decimal', '0.1', { decimal: '0.1' }],
      ['decimal', '"-.50"', { decimal: '-.50' }],
      ['decimal', '12345678901234567890.10', { decimal: '12345678901234567890.10' }],
      ['decimal', `"${long}.12345"`, { decimal: `${long}.12345` }],
      ['decimal', `"${long}.123456"`, `${long}.123456`],
      ['decimal', `"0.${'1'.repeat(31)}"`, `0.${'1'.repeat(31)}`],
      ['decimal', '"1e3"', '1e3'],
      ['decimal', 'null', null],
    ]) {
      expect(params('SELECT :x', String(json), String(type))).toEqual([bound]);
      if (json === 'null') continue;
      const list = params('SELECT 1 WHERE a IN (:x)', `[${json},${json},null]`, `${type}[]`);
      expect(list).toEqual([bound, bound, null, null]);
    }
    expect(params('SELECT :x', '9223372036854775807', 'number')).toEqual(['9223372036854775807']);
  });
});
