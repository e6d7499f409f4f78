import { expect, it } from 'vitest';
import { canDryRun, commandOf, reads } from '../../src/state/commands.ts';

it.each([
  ['SELECT 1', 'postgres', 'SELECT'],
  ['-- a note\n/* x */ (select 1)', 'mysql', 'SELECT'],
  ["WITH a AS (SELECT 'delete') SELECT * FROM a", 'postgres', 'SELECT'],
  ['WITH a AS (SELECT 1) UPDATE t SET x = 1', 'postgres', 'UPDATE'],
  ['insert into t values (1)', 'mariadb', 'INSERT'],
  ['desc t', 'mysql', 'DESCRIBE'],
  ['frobnicate', 'mysql', undefined],
  ['{"find": "orders"}', 'mongodb', 'SELECT'],
  ['{ "insert": "orders" }', 'mongodb', 'INSERT'],
])('%s is %s', (text, engine, command) => expect(commandOf(text, engine)).toBe(command));

it('knows what writes, and what can be rolled back', () => {
  expect(['SELECT', 'with', 'FIND', 'AGGREGATE'].map(reads)).toEqual([true, true, true, true]);
  expect(['UPDATE', 'CREATE'].map(reads)).toEqual([false, false]);
  expect(canDryRun('UPDATE', 'postgres')).toBe(true);
  expect(canDryRun('CREATE', 'postgres')).toBe(false);
  expect(canDryRun('UPDATE', 'mongodb')).toBe(false);
});
