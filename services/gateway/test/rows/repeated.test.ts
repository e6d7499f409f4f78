import { CallStop } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { expect, it, vi } from 'vitest';
import { repeated } from '../../src/rows/repeated.ts';

const busyFor = (retryAfterMs: number) =>
  new HubError('SOURCE_BUSY', 'busy', { retryable: true, retryAfterMs });

it('repeats a call until it succeeds', async () => {
  const call = vi.fn().mockRejectedValueOnce(busyFor(1)).mockResolvedValue('done');
  expect(await repeated(call, new CallStop())).toBe('done');
});

it('repeats a call whose outcome is unknown, as often as it is told', async () => {
  const call = vi.fn().mockRejectedValue(outcomeUnknown(undefined));
  await expect(repeated(call, new CallStop(), 2)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(call).toHaveBeenCalledTimes(2);
});

it('stops waiting when the caller leaves', async () => {
  const busy = busyFor(60_000);
  const call = vi.fn().mockRejectedValue(busy);
  const stop = new CallStop();
  const result = repeated(call, stop);
  await vi.waitFor(() => expect(call).toHaveBeenCalledOnce(), 60_000);
  stop.abort('left');
  await expect(result).rejects.toBe(busy);
  expect(call).toHaveBeenCalledOnce();
});
