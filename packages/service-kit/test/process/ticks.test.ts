import { expect, it } from 'vitest';
import { keepTicksFast } from '../../src/process/ticks.ts';

it('gets the object by which Node describes a call of nextTick', async () => {
  const tick = await keepTicksFast();
  expect(Object.keys(tick)).toEqual(['callback', 'args']);
  expect(Object.getOwnPropertySymbols(tick).map(String)).toContain('Symbol(async_id_symbol)');
});
