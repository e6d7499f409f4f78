/** What a new user meets: the first start, taken ports, a restart, `whoami`, a mistyped setting, a signal. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '@datahub/service-kit/process/free-port';
import { tableFromIPC } from 'apache-arrow';
import { chromium } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findChromium } from '../../tools/databases/chromium.ts';
import { inherited } from '../support/inherited.ts';

const source = (name: string) => fileURLToPath(new URL(`../../services/hub/src/${name}`, import.meta.url));
const run = promisify(execFile);
const executablePath = await findChromium({ say: (line) => console.log(line) });

let dir: string;
let port: string;
const children: ChildProcess[] = [];
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-first-'));
  port = String(await freePort());
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const close of closing.splice(0)) await close();
  await rm(dir, { recursive: true, force: true });
});

const environment = (own: Record<string, string>) => ({
  ...inherited,
  PORT: port,
  DATAHUB_DATA_DIR: dir,
  DATAHUB_DEMO: '0',
  ...own,
});

function start(own: Record<string, string> = {}) {
  const child = spawn(process.execPath, [source('main.ts')], { env: environment(own) });
  children.push(child);
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (text.out += chunk));
  child.stderr.on('data', (chunk) => (text.err += chunk));
  const closed = once(child, 'close');
  return {
    text,
    /** Once it has printed the last line of its welcome. */
    welcomed: () => expect.poll(() => text.err, { timeout: 150_000 }).toMatch(/Try it:\n\n(.+\n)+\n/),
    stop: async () => {
      child.kill('SIGTERM');
      return (await closed)[0];
    },
    ended: async () => (await closed)[0],
  };
}

const whoami = async (...args: string[]) => {
  const env = { ...inherited, DATAHUB_DATA_DIR: dir };
  return (await run(process.execPath, [source('cli.ts'), 'whoami', ...args], { env })).stdout;
};
const readKey = async () => (await readFile(join(dir, 'api-key'), 'utf8')).trim();

async function takePort(wanted: string | number): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(Number(wanted), '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
}

describe('a first start', () => {
  it('keeps standard output to JSON lines, and tells where the key is, as whoami does', async () => {
    const hub = start();
    await hub.welcomed();
    const key = await readKey();
    const curl = /^ +(curl .+)$/m.exec(hub.text.err)?.[1] as string;
    expect(hub.text.err.trimEnd().endsWith(curl)).toBe(true);
    expect((await run('sh', ['-c', curl])).stdout).toBe('[]');

    // Without PORT, as in another terminal.
    const told = await whoami();
    for (const part of [`http://127.0.0.1:${port}\n`, join(dir, 'api-key'), 'dh.acct.', 'scopes   *\n', curl])
      expect(told).toContain(part);
    expect(told).not.toContain(key);
    expect(await whoami('--show-key')).toContain(key);

    expect(await hub.stop()).toBe(0);
    const lines = hub.text.out.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(
      expect.arrayContaining(['key.created', 'http.request', 'service.stopped']),
    );
    expect(hub.text.out).not.toContain(key);
    expect(await whoami()).toContain('no hub answers there');
  });

  it('names PORT if the port is taken, and does not lose the key that it made', async () => {
    await takePort(port);
    const failed = start();
    expect(await failed.ended()).toBe(1);
    expect(failed.text.err).toContain('set PORT to another port');
    expect(failed.text.err).not.toMatch(/^ +at /m);
    expect(failed.text.out).toContain(join(dir, 'api-key'));
    const key = await readKey();

    port = String(await freePort());
    const hub = start();
    await hub.welcomed();
    expect(hub.text.err).toContain(join(dir, 'api-key'));
    const answer = await fetch(`http://127.0.0.1:${port}/v1/hubs`, { headers: { 'x-service-api-key': key } });
    expect(answer.status).toBe(200);
  });

  it('needs no metrics port, and warns of a mistyped setting without its value', async () => {
    await takePort(9090).catch(() => {});
    const hub = start({ DATAHUB_METRIC_PORT: 'a-secret' });
    await hub.welcomed();
    await hub.stop();
    expect(hub.text.out).toContain('did you mean DATAHUB_METRICS_PORT?');
    expect(hub.text.out + hub.text.err).not.toContain('a-secret');
  });
});

describe('the sign-in link', () => {
  const exchange = (code: string, headers: Record<string, string> = {}, path = '/console/sign-in') =>
    run('curl', [
      ...['-s', '-i', '-X', 'POST', `http://127.0.0.1:${port}${path}`, '-H', `x-sign-in-code: ${code}`],
      ...Object.entries({ origin: `http://127.0.0.1:${port}`, ...headers }).flatMap(([name, value]) => [
        '-H',
        `${name}: ${value}`,
      ]),
    ]).then(({ stdout }) => {
      const [head = '', body = ''] = stdout.split('\r\n\r\n');
      return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body) };
    });
  const codeIn = (text: string) => /#sign-in=([\w-]{43}) /.exec(text)?.[1] as string;

  it('yields one key for 12 hours, to a page of this machine only, without CORS', async () => {
    const hub = start();
    await hub.welcomed();
    const code = codeIn(hub.text.err);
    const strangers: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: '' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { host: 'evil.example', origin: 'http://evil.example' },
      { host: `localhost.evil.example:${port}`, origin: `http://localhost.evil.example:${port}` },
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
      { via: '1.1 proxy' },
      { 'x-real-ip': '127.0.0.1' },
    ];
    for (const headers of strangers) expect(await exchange(code, headers)).toMatchObject({ status: 403 });
    expect(await exchange(`${code}x`)).toMatchObject({ status: 401, body: { code: 'KEY_INVALID' } });

    const answers = await Promise.all([exchange(code), exchange(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    const { head, body } = answers.find(({ status }) => status === 200) as (typeof answers)[0];
    expect(head).not.toMatch(/access-control/i);
    expect(head).toMatch(/cache-control: no-store/i);
    expect(body.key).not.toBe(await readKey());
    const hours = (Date.parse(body.expiresAt) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(11.9);
    expect(hours).toBeLessThanOrEqual(12);

    // As signing out does.
    const call = (method: string, path: string) =>
      fetch(`http://127.0.0.1:${port}/v1/${path}`, { method, headers: { 'x-service-api-key': body.key } });
    expect((await call('GET', 'hubs')).status).toBe(200);
    expect((await call('DELETE', `keys/${body.keyId}`)).status).toBe(200);
    await expect.poll(async () => (await call('GET', 'hubs')).status, { timeout: 60_000 }).toBe(401);
    const preflight = await fetch(`http://127.0.0.1:${port}/console/sign-in`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();

    await hub.stop();
    expect(hub.text.out).not.toContain(code);
    expect(hub.text.out).not.toContain(body.key);
  });

  it.skipIf(executablePath === undefined)(
    'signs a browser in, leaves no code in its address, and signing out revokes the key',
    async () => {
      const hub = start();
      await hub.welcomed();
      const browser = await chromium.launch({
        executablePath: executablePath as string,
        args: ['--no-sandbox', '--disable-gpu'],
      });
      closing.push(() => browser.close());
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/#sign-in=${codeIn(hub.text.err)}`);
      await page.locator('.frame').waitFor({ timeout: 60_000 });
      expect(page.url()).not.toContain('sign-in');
      const key = await page.evaluate(() => globalThis.sessionStorage.getItem('datahub.key') ?? '');
      const status = async () => {
        const headers = { 'x-service-api-key': key };
        return (await fetch(`http://127.0.0.1:${port}/v1/hubs`, { headers })).status;
      };
      expect([key === (await readKey()), await status()]).toEqual([false, 200]);
      await page.reload();
      await page.locator('.frame').waitFor({ timeout: 60_000 });
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor({ timeout: 60_000 });
      await expect.poll(status, { timeout: 60_000 }).toBe(401);
      expect(await page.evaluate(() => globalThis.sessionStorage.length)).toBe(0);
    },
  );

  it('is rate-limited', async () => {
    const hub = start({ DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '1' });
    await hub.welcomed();
    const statuses: number[] = [];
    // 20 codes a minute, and one more for each 3 seconds that this takes.
    do statuses.push((await exchange('x'.repeat(43))).status);
    while (statuses.at(-1) === 401 && statuses.length < 60);
    expect(statuses.length).toBeGreaterThan(20);
    expect(statuses.at(-1)).toBe(429);
    expect((await exchange(codeIn(hub.text.err))).status).toBe(429);
  });

  it.each([
    ['HOST', '0.0.0.0'],
    ['DATAHUB_TRUSTED_PROXIES', '10.0.0.0/8'],
    ['DATAHUB_CONSOLE', '0'],
  ])('does not exist with %s=%s', async (name, value) => {
    const hub = start({ [name]: value });
    await hub.welcomed();
    expect(hub.text.err).not.toContain('sign-in');
    expect((await exchange('x'.repeat(43))).status).not.toBe(200);
    await hub.stop();
  });
});

it('moves the demo database to another port if its own is taken, and updates the source', async () => {
  const first = start({ DATAHUB_DEMO: '1' });
  await first.welcomed();
  await first.stop();
  const { port: taken } = JSON.parse(await readFile(join(dir, 'demo.json'), 'utf8'));
  await takePort(taken);

  const second = start({ DATAHUB_DEMO: '1' });
  await second.welcomed();
  const { port: moved, queryId } = JSON.parse(await readFile(join(dir, 'demo.json'), 'utf8'));
  expect(moved).not.toBe(taken);
  const headers = { 'x-service-api-key': await readKey(), 'content-type': 'application/json' };
  const execute = (more: object) =>
    fetch(`http://127.0.0.1:${port}/v1/queries/execute`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ queryId, context: { region: 'north' } }),
    });
  expect(await (await execute({})).json()).toMatchObject({ data: [{ product: 'cocoa' }, {}, {}] });
  // docs/python.md adds the amounts of the demo up, which come as text without a scale.
  const arrow = await execute({ accept: 'application/vnd.apache.arrow.stream' });
  const { schema } = tableFromIPC(Buffer.from(await arrow.arrayBuffer()));
  expect(schema.fields.map(({ type }) => String(type))).toEqual(['Utf8', 'Int64', 'Decimal[12e+2]']);
  await second.stop();
});
