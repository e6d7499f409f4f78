import { expect, it } from 'vitest';
import { limit, sendInTurn } from '../../src/api/rate.ts';

const refusal = () =>
  new Response('{}', {
    status: 429,
    headers: { 'retry-after': '0', 'ratelimit-policy': '"default";q=60;w=60' },
  });

/** Refuses the first `refusals` calls, and notes who was sent. */
function createHub(refusals: number) {
  const sent: string[] = [];
  let left = refusals;
  return {
    sent,
    send: (name: string) => async () => {
      sent.push(name);
      return left-- > 0 ? refusal() : new Response(name);
    },
  };
}

it('sends refused calls again one behind the other, and says which limit they wait for', async () => {
  const { sent, send } = createHub(4);
  const seen = new Set<number | undefined>();
  const stop = limit.subscribe((value) => seen.add(value?.perMinute));
  const answers = await Promise.all(['a', 'b', 'c'].map((name) => sendInTurn(send(name), undefined)));
  stop();
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['a', 'b', 'c']);
  // The first refusals, then one call at a time.
  expect(sent).toEqual(['a', 'b', 'c', 'a', 'a', 'b', 'c']);
  expect([...seen]).toEqual([undefined, 60]);
  expect(limit.value).toBeUndefined();
});

it('lets a waiting call be aborted at once, and the next one go on', async () => {
  const { send } = createHub(0);
  const abort = new AbortController();
  const later = new Response('{}', { status: 429, headers: { 'retry-after': '60' } });
  const waits = Promise.withResolvers<void>();
  const stop = limit.subscribe((value) => value !== undefined && waits.resolve());
  const first = sendInTurn(async () => later, abort.signal);
  await waits.promise;
  const next = sendInTurn(send('next'), undefined);
  abort.abort();
  await expect(first).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(await (await next).text()).toBe('next');
  stop();
});

it('hands on a refusal that lasts longer than two minutes', async () => {
  const later = new Response('{}', { status: 429, headers: { 'retry-after': '121' } });
  expect((await sendInTurn(async () => later, undefined)).status).toBe(429);
});
