import { randomInt } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../src/process/free-port.ts';

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  return { ...crypto, randomInt: vi.fn<(min: number, max: number) => number>(crypto.randomInt) };
});

it('gives no port a second time, although nothing listens on it yet', async () => {
  const first = await freePort();
  const drawn = vi.mocked(randomInt as (min: number, max: number) => number);
  drawn.mockReturnValueOnce(first);
  const second = await freePort();
  expect(second).not.toBe(first);
  expect(drawn).toHaveBeenCalledTimes(3);
});
