import { expect, it } from 'vitest';
import { heldBytes } from '../../../tests/support/memory.ts';
import { compileStatement } from '../src/compile.ts';

it('a compiled statement takes little more memory than its text', () => {
  const before = heldBytes();
  const compiled = Array.from({ length: 8 }, (_, i) =>
    compileStatement(`SELECT 1${',1'.repeat(100_000 + i)}`, {
      dialect: 'mysql',
      command: 'SELECT',
      variables: [],
    }),
  );
  expect(heldBytes() - before).toBeLessThan(8 * 2 * 1_048_576);
  expect(compiled.map(({ verb }) => verb)).toEqual(Array(8).fill('SELECT'));
});
