import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';
import { freePort } from '../../src/process/free-port.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('gives no port a second time, although nothing listens on it yet', async () => {
  const first = await freePort();
  const drawn = vi.spyOn(crypto, 'randomInt').mockImplementationOnce(() => first);
  syncBuiltinESMExports();
  const second = await freePort();
  expect(second).not.toBe(first);
  expect(drawn).toHaveBeenCalledTimes(2);
});
