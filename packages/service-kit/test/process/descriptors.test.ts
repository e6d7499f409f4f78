import { expect, it, vi } from 'vitest';
import { watchDescriptors } from '../../src/process/descriptors.ts';

it('says once that descriptors are scarce, and again after they were not', async () => {
  const warn = vi.fn();
  let used: number | undefined = 50;
  const countUsed = vi.fn(async () => used);
  const watch = watchDescriptors({
    ...{ logger: { warn } as never, everyMs: 5, readMax: async () => 100, countUsed },
  });
  const looked = async () => {
    const before = countUsed.mock.calls.length;
    await expect.poll(() => countUsed.mock.calls.length).toBeGreaterThan(before + 1);
  };
  await looked();
  expect(warn).not.toHaveBeenCalled();
  used = 95;
  await looked();
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    { event: 'descriptors.scarce', used: 95, max: 100 },
    expect.stringContaining('95 of 100 file descriptors'),
  );
  used = 50;
  await looked();
  used = undefined;
  await looked();
  expect(warn).toHaveBeenCalledTimes(2);
  expect(warn.mock.lastCall?.[0]).toMatchObject({ used: 100 });
  await watch.close();
});
