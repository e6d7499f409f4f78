import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
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
beforeEach(() => {
  used.length = 0;
});

const path = join(dir, 'profile.json');
const hub = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

it('uses up no token on a full disk, and stores the next one once there is space', async () => {
  let stored: SignIn = { accessToken: 'a0', refreshToken: 'r0', expiresAt: 0 };
  let isFull = true;
  const renew = createRenewal(stored, {
    path,
    url: hub(),
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

it.each([
  ['a killed command left', -100],
  ['was left before the clock was set back', 100],
])('uses up a token once if three commands find the lock that %s', async (_, ageS) => {
  let stored: SignIn = { accessToken: 'a0', refreshToken: 'r0', expiresAt: 0 };
  const lock = `${path}.lock`;
  writeFileSync(lock, '');
  utimesSync(lock, Date.now() / 1_000 + ageS, Date.now() / 1_000 + ageS);
  const kept = {
    path,
    url: hub(),
    read: async () => stored,
    write: async (signIn: SignIn) => {
      stored = signIn;
    },
  };
  const commands = Array.from({ length: 3 }, () => createRenewal(stored, kept));
  expect(await Promise.all(commands.map((renew) => renew()))).toEqual(['a1', 'a1', 'a1']);
  expect(used).toEqual(['r0']);
  expect(readdirSync(dir)).toEqual([]);
});
