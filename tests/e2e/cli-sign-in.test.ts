import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from '../../tools/databases/process.ts';
import { type AgentsHub, startAgentsHub } from '../support/browser/agents-hub.ts';
import { consent } from '../support/browser/oauth-client.ts';

const program = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

describe.skipIf(findCommand('openssl') === undefined)('datahub login with a browser (needs openssl)', () => {
  let on: AgentsHub;
  let home: string;
  let profile: string;
  beforeAll(async () => {
    on = await startAgentsHub();
    home = await mkdtemp(join(tmpdir(), 'datahub-home-'));
    profile = join(home, '.config/datahub/profile.json');
  });
  afterAll(async () => {
    await on?.close();
    await rm(home, { recursive: true, force: true });
  });

  const start = (...args: string[]) =>
    spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH, HOME: home, BROWSER: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const outcomeOf = async (child: ChildProcess) => {
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      text(child.stderr as NodeJS.ReadableStream),
      once(child, 'close'),
    ]);
    return { code, stdout, stderr };
  };
  const run = (...args: string[]) => outcomeOf(start(...args));
  const signIn = async () => {
    const child = start('login', '--with', 'browser', '--url', on.origin);
    let shown = '';
    while (!/authorize\S+\n/.test(shown)) shown += (await once(child.stderr, 'data'))[0];
    const address = new URL(/http\S+/.exec(shown)?.[0] ?? '');
    return { child, address };
  };
  const stored = async () => JSON.parse(await readFile(profile, 'utf8'));

  it('signs a person in, acts as the person, and keeps the tokens in a file for this user alone', async () => {
    const { child, address } = await signIn();
    expect(address.searchParams.get('client_id')).toBe('datahub-cli');
    const led = await consent(on.ada, address);
    // Somebody else sends an answer.
    const forged = new URL(led);
    forged.searchParams.set('state', 'x');
    expect((await fetch(forged)).status).toBe(404);
    const outcome = outcomeOf(child);
    const page = await fetch(led);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You are signed in')]);
    expect(await outcome).toMatchObject({ code: 0 });
    expect((await stat(profile)).mode & 0o777).toBe(0o600);
    const { signIn: tokens } = await stored();
    const ran = await run('export', join(home, 'edited'), '--hub', 'edited');
    expect(ran).toMatchObject({ code: 0 });
    const as = { key: tokens.accessToken };
    const put = async (hubId = '') =>
      (await on.hub.api.put(`/v1/hubs/${hubId}`, { label: 'edited' }, as)).status;
    expect([await put(on.hubIds[1]), await put(on.hubIds[0])]).toEqual([200, 403]);
    const [entry] = await on.hub.api.ok(on.hub.api.get('/v1/audit?action=hub.update'));
    expect(entry.person).toMatchObject({ name: 'Ada Lovelace' });
    expect(await on.toolsOf(tokens.accessToken)).toBe(403);
    expect(await run('mcp')).toMatchObject({ code: 1, stderr: expect.stringContaining('not for agents') });
  });

  it('renews the token once, however many commands run', async () => {
    const { signIn: before, ...rest } = await stored();
    await writeFile(profile, JSON.stringify({ ...rest, signIn: { ...before, expiresAt: 0 } }));
    const ran = await Promise.all([1, 2, 3].map(() => run('whoami')));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
    const { signIn: after } = await stored();
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect((await stat(profile)).mode & 0o777).toBe(0o600);
    expect((await run('whoami')).code).toBe(0);
  });

  it('ends the sign-in', async () => {
    const { signIn: tokens } = await stored();
    expect(await run('logout')).toMatchObject({ code: 0 });
    await expect(stat(profile)).rejects.toThrow('ENOENT');
    const headers = { 'x-service-api-key': tokens.accessToken };
    await expect.poll(async () => (await fetch(`${on.origin}/v1/hubs`, { headers })).status).toBe(401);
    expect((await run('whoami')).code).toBe(7);
  });

  it('says that it was denied', async () => {
    const { child, address } = await signIn();
    const led = await consent(on.ada, address, (fields) => fields.set('decision', 'deny'));
    expect(led.searchParams.get('error')).toBe('access_denied');
    const outcome = outcomeOf(child);
    const page = await fetch(led);
    expect([page.status, await page.text()]).toEqual([400, expect.stringMatching(/failed.*refused/)]);
    expect(await outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('refused') });
  });

  it('says in the browser, too, why an answer brings no tokens', async () => {
    for (const [name, reason] of [
      ['iss', `not from ${on.origin}`],
      ['code', 'Sign in again'],
    ] as const) {
      const { child, address } = await signIn();
      const led = await consent(on.ada, address);
      led.searchParams.set(name, 'https://other.example');
      const outcome = outcomeOf(child);
      const page = await fetch(led);
      expect([page.status, await page.text()]).toEqual([400, expect.stringContaining(reason)]);
      expect((await outcome).code).not.toBe(0);
    }
  });
});
