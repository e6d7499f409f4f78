import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signIn } from '../../src/api/session.ts';
import { mayBeWritten, Runner } from '../../src/state/run.ts';

const request = {
  ...{ target: { queryId: 'q' }, of: 'q', context: '{}', shown: '{}', values: {}, columns: [] },
  writes: true,
};

describe('a write', () => {
  /** The Idempotency-Key of each request. */
  let keys: string[];
  let answers: (() => Response)[];
  beforeEach(() => {
    [keys, answers] = [[], []];
    vi.stubGlobal('document', { baseURI: 'http://hub.test/', cookie: '' });
    vi.stubGlobal('location', { hash: '' });
    vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw));
    vi.stubGlobal('fetch', async (_: string, { headers }: { headers: Record<string, string> }) => {
      keys.push(headers['idempotency-key'] ?? '');
      const [next, ...later] = answers;
      if (later.length > 0) answers = later;
      return next?.();
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    signIn('dhk_x', { keep: false });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const run = async (runner: Runner) => {
    const running = runner.run(request);
    await vi.advanceTimersByTimeAsync(20_000);
    await running;
    return runner.state.value;
  };
  const page = (status: number) => () => new Response('<html>', { status });
  const problem = (status: number, code: string) => () =>
    new Response(JSON.stringify({ status, code }), { status });

  it.each([502, 504, 408])('is sent again with its key after the %s of a proxy', async (status) => {
    answers = [page(status), () => new Response('{"affectedRows":1}\n\x1e{}\n')];
    expect((await run(new Runner())).status).toBe('done');
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it.each([page(504), problem(503, 'OUTCOME_UNKNOWN')])(
    'keeps its key while nobody knows its end',
    async (answer) => {
      answers = [answer];
      const runner = new Runner();
      expect(mayBeWritten(await run(runner))).toBe(true);
      expect(mayBeWritten(await run(runner))).toBe(true);
      expect(new Set(keys).size).toBe(1);
    },
  );

  it('has another key once its end is known', async () => {
    answers = [problem(503, 'UNAVAILABLE')];
    const runner = new Runner();
    expect(mayBeWritten(await run(runner))).toBe(false);
    await run(runner);
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  });

  it('that another one stopped is listed as stopped', async () => {
    let isFirst = true;
    vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
      if (!isFirst) return Promise.resolve(new Response('{"affectedRows":1}\n\x1e{}\n'));
      isFirst = false;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const runner = new Runner();
    const first = runner.run(request);
    await run(runner);
    await first;
    expect(runner.past.value.map(({ status }) => status).sort()).toEqual(['cancelled', 'done']);
  });
});
