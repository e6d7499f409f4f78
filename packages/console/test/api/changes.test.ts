import { expect, it } from 'vitest';
import { isOfEarlier, sendChange } from '../../src/api/changes.ts';

/** Answers as a hub that does each key's change once. */
function hub() {
  const answered = new Map<string, string>();
  let isCut = false;
  return {
    cut: () => {
      isCut = true;
    },
    send: async ({ 'idempotency-key': key = '' }: Record<string, string>) => {
      const isReplayed = answered.has(key);
      answered.set(key, answered.get(key) ?? String(answered.size + 1));
      const body = answered.get(key);
      if (!isCut)
        return new Response(body, { headers: isReplayed ? { 'idempotency-replayed': 'true' } : {} });
      isCut = false;
      throw new TypeError('network error');
    },
  };
}

const change = (signal?: AbortSignal) => ({ path: 'v1/queries/execute', body: '{}', signal });

it('tells the answer of an earlier change from that of a new one', async () => {
  const { cut, send } = hub();
  const stop = new AbortController();
  cut();
  const lost = sendChange(change(stop.signal), (headers) => {
    stop.abort();
    return send(headers);
  });
  await expect(lost).rejects.toThrow('network error');
  const replayed = await sendChange(change(), send);
  expect([await replayed.text(), isOfEarlier(replayed)]).toEqual(['1', true]);
  const fresh = await sendChange(change(), send);
  expect([await fresh.text(), isOfEarlier(fresh)]).toEqual(['2', false]);
});

it('takes the answer to a repetition of its own for its answer', async () => {
  const { cut, send } = hub();
  cut();
  const response = await sendChange(change(), send);
  expect([await response.text(), isOfEarlier(response)]).toEqual(['1', false]);
});
