import { expect, it } from 'vitest';
import { canDryRun, reads } from '../../src/state/commands.ts';

it('knows what writes, and what can be rolled back', () => {
  expect(['SELECT', 'with', 'FIND', 'AGGREGATE'].map(reads)).toEqual([true, true, true, true]);
  expect(['UPDATE', 'CREATE'].map(reads)).toEqual([false, false]);
  expect(canDryRun('UPDATE', 'postgres')).toBe(true);
  expect(canDryRun('CREATE', 'postgres')).toBe(false);
  expect(canDryRun('UPDATE', 'mongodb')).toBe(false);
});
