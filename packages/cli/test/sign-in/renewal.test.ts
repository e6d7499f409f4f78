import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRenewal } from '../../src/sign-in/renewal.ts';
import type { SignIn } from '../../src/sign-in/server.ts';

const dir = mkdtempSync(join(tmpdir(), 'renewal-'));
/** The tokens that were used up. */
const used: string[] = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  used.push(new URLSearchParams(body).get('refresh_token') ?? '');
  const tokens = { access_token: `a${used.length}`, refresh_token: `r${used.length}`, expires_in: 3_600 };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(tokens));
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true });
});

it('uses up no token on a full disk, and stores the next one once there is space', async () => {
  let stored: SignIn = { accessToken: 'a0', refreshToken: 'r0', expiresAt: 0 };
  let isFull = true;
  const renew = createRenewal(stored, {
    path: join(dir, 'profile.json'),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    read: async () => stored,
    write: async (signIn) => {
      if (isFull) throw new Error('ENOSPC: no space left on device, write');
      stored = signIn;
    },
  });
  await expect(renew()).rejects.toThrow('ENOSPC');
  expect(used).toEqual([]);
  isFull = false;
  expect(await renew()).toBe('a1');
  expect(used).toEqual(['r0']);
  expect(stored).toMatchObject({ accessToken: 'a1', refreshToken: 'r1' });
});
