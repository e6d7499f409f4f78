import { expect, it, vi } from 'vitest';
import { loadOnce } from '../src/load-once.ts';

it('loads once for all, and again after a failure', async () => {
  const load = vi.fn(async () => 'module');
  load.mockRejectedValueOnce(new Error('EMFILE'));
  const loaded = loadOnce(load);
  const failed = await Promise.allSettled([loaded(), loaded()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await Promise.all([loaded(), loaded()])).toEqual(['module', 'module']);
  expect(await loaded()).toBe('module');
  expect(load).toHaveBeenCalledTimes(2);
});
