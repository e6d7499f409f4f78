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

it('keeps no long texts of long lists', () => {
  const list = JSON.stringify({ a: Array(8_193).fill(1) });
  const before = heldBytes();
  const compiled = Array.from({ length: 50 }, (_, i) => {
    const options = { command: 'SELECT', variables: [{ key: 'a', type: 'json[]' }] };
    const statement = compileStatement(`SELECT ${i} WHERE a IN (:a)`, { ...options, dialect: 'mysql' });
    expect(statement.bind({ pinnedJson: '', contextJson: list }).text.length).toBeGreaterThan(200_000);
    return statement;
  });
  expect(heldBytes() - before).toBeLessThan(50 * 20_000);
  expect(compiled).toHaveLength(50);
});
