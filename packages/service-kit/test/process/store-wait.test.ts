import { expect, it } from 'vitest';
import { HubError } from '../../src/call/error.ts';
import { isAwaited, lateService, openWithStore } from '../../src/process/store-wait.ts';
import { createLogger, type Logger } from '../../src/telemetry/logger.ts';

const logger: Logger = createLogger({ service: 'test', level: 'silent', pretty: false });
const away = (retryable: boolean) => new HubError('UNAVAILABLE', 'away', { retryable });
const wait = { logger, isAwaited: true, delayMinMs: 1, delayMaxMs: 4 };

/** Fails with each of these, then opens. */
function opensAfter(...failures: unknown[]) {
  let attempts = 0;
  return {
    open: async () => {
      const failure = failures[attempts++];
      if (failure !== undefined) throw failure;
      return 'open';
    },
    attempts: () => attempts,
  };
}

it('tries again until the store is there, and says once that it waits', async () => {
  const store = opensAfter(away(true), away(true), away(true));
  let told = 0;
  const onUnavailable = async () => {
    told++;
  };
  expect(await openWithStore(store.open, { ...wait, onUnavailable })).toBe('open');
  expect([store.attempts(), told]).toEqual([4, 1]);
});

it.each([
  ['a refused log-in', away(false)],
  ['a newer format', new HubError('UNAVAILABLE', 'Start a newer hub.')],
  ['a URL that is none', new TypeError('Invalid URL')],
])('does not wait for %s to mend itself', async (_name, failure) => {
  const store = opensAfter(failure);
  await expect(openWithStore(store.open, wait)).rejects.toBe(failure);
  expect(store.attempts()).toBe(1);
});

it('says that it is not there yet if opening takes long', async () => {
  let told = 0;
  const onUnavailable = async () => {
    told++;
  };
  const open = () => new Promise((resolve) => setTimeout(() => resolve('open'), 100));
  expect(await openWithStore(open, { ...wait, onUnavailable, longMs: 10 })).toBe('open');
  expect(await openWithStore(open, { ...wait, onUnavailable, longMs: 5_000 })).toBe('open');
  expect(told).toBe(1);
});

it('does not wait for an embedded store', async () => {
  expect([isAwaited('sqlite:data/catalog.db'), isAwaited('mongodb+srv://x')]).toEqual([false, true]);
  const store = opensAfter(away(true));
  await expect(openWithStore(store.open, { ...wait, isAwaited: false })).rejects.toThrow('away');
});

it('refuses calls before the service is there, and passes them on then', async () => {
  let calls: object | undefined;
  const { handlers } = lateService({ ask: {} }, () => calls);
  const ask = (handlers as { ask(request: string): Promise<string> }).ask;
  expect(() => ask('x')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE', retryable: true }));
  calls = { ask: async (request: string) => `${request}!` };
  expect(await ask('x')).toBe('x!');
});
