import { describe, expect, it, vi } from 'vitest';
import { CallStop, toAbortSignal } from '../../src/call/call.ts';

/** What callers rely on holds for the platform's signal and for ours. */
describe.each([
  ['the platform', () => new AbortController()],
  ['a call', () => new CallStop()],
])('the signal of %s', (_whose, create) => {
  const setup = () => {
    const stop = create();
    return { stop, signal: stop instanceof CallStop ? stop : stop.signal };
  };

  it('tells each listener once, in order, with the first reason', () => {
    const { stop, signal } = setup();
    const told: unknown[] = [];
    signal.addEventListener('abort', () => told.push(['first', signal.aborted, signal.reason]));
    signal.addEventListener('abort', () => told.push(['second', signal.aborted, signal.reason]));
    expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
    stop.abort('gone');
    stop.abort('late');
    expect(told).toEqual([
      ['first', true, 'gone'],
      ['second', true, 'gone'],
    ]);
    expect(signal.reason).toBe('gone');
  });

  it('calls no listener that was removed, also while it calls the others, and none that was added later', () => {
    const { stop, signal } = setup();
    const [left, next, after] = [vi.fn(), vi.fn(), vi.fn()];
    signal.addEventListener('abort', left);
    signal.removeEventListener('abort', left);
    signal.addEventListener('abort', () => signal.removeEventListener('abort', next));
    signal.addEventListener('abort', next);
    stop.abort('gone');
    signal.addEventListener('abort', after);
    stop.abort('again');
    for (const listener of [left, next, after]) expect(listener).not.toHaveBeenCalled();
  });

  it.each(['before', 'after'])('is the platform’s where that is asked for, %s it fires', (when) => {
    const { stop, signal } = setup();
    if (when === 'after') stop.abort('gone');
    const own = toAbortSignal(signal);
    expect(own).toBeInstanceOf(AbortSignal);
    if (when === 'before') {
      expect(own.aborted).toBe(false);
      stop.abort('gone');
    }
    expect([own.aborted, own.reason]).toEqual([true, 'gone']);
  });
});
