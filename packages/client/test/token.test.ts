import { expect, it } from 'vitest';
import { json, problem, useServer } from './server.ts';

const { answers, client, received } = useServer();
const rows = { data: [{ id: 1 }] };
const expired = problem(401, { code: 'TOKEN_INVALID' });

it('sends the token of the user and the headers, and asks once more after a 401', async () => {
  const tokens = ['old', 'new', 'newer'];
  const asked = client({ token: async () => tokens.shift() ?? 'none', headers: { 'x-page': 'orders' } });
  answers(expired, json(rows), expired, expired);
  // Also a write, because the hub has done nothing.
  expect(await asked.execute('dh.q.write')).toEqual(rows);
  expect(received.map(({ headers }) => [headers.authorization, headers['x-page']])).toEqual([
    ['Bearer old', 'orders'],
    ['Bearer new', 'orders'],
  ]);
  await expect(asked.execute('dh.q.write')).rejects.toMatchObject({ status: 401, code: 'TOKEN_INVALID' });
  expect(received).toHaveLength(4);
});

it('fails with a reason if there is no token', async () => {
  const cause = new Error('signed out');
  const failing = client({ token: () => Promise.reject(cause) });
  await expect(failing.execute('dh.q.write')).rejects.toMatchObject({ code: 'TOKEN_FAILED', cause });
  const silent = client({ token: () => new Promise<string>(() => {}), timeoutMs: 20, retries: 0 });
  await expect(silent.execute('dh.q.write')).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(received).toEqual([]);
});
