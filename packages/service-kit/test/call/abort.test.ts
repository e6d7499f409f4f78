import { expect, it } from 'vitest';
import { onAbort, orAborted } from '../../src/call/abort.ts';
import { CallStop } from '../../src/call/call.ts';

it.each([
  ['a signal of the platform', () => new AbortController()],
  ['a signal of a call', () => new CallStop()],
])('%s calls listeners once, at once if it has aborted, and none that are disposed of', (_name, create) => {
  const stop = create();
  const signal = 'signal' in stop ? stop.signal : stop;
  const heard: string[] = [];
  onAbort(signal, () => heard.push('before'));
  onAbort(signal, () => heard.push('disposed of'))[Symbol.dispose]();
  expect(heard).toEqual([]);
  stop.abort(new Error('why'));
  onAbort(signal, () => heard.push('after'));
  expect(heard).toEqual(['before', 'after']);
});

it('waits for work, or rejects with the reason of the signal, and the work may fail later', async () => {
  const stop = new CallStop();
  expect(await orAborted(Promise.resolve(1), stop)).toBe(1);
  const work = Promise.withResolvers<never>();
  const waiting = orAborted(work.promise, stop);
  stop.abort('the reason');
  await expect(waiting).rejects.toBe('the reason');
  await expect(orAborted(work.promise, stop, (reason) => ({ reason }))).rejects.toEqual({
    reason: 'the reason',
  });
  work.reject(new Error('late'));
});
