import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHub } from '../../services/hub/src/compose.ts';
import { startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { inherited } from '../support/inherited.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const command = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));

describe('the operator’s commands', () => {
  let dir: string;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const env = () => ({
    ...hubSettings(dir, key),
    DATAHUB_EDGE: 'none',
  });

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-operator-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** As an operator types it, with or without a key at hand. */
  const run = async (args: string[], { port = 9, with: own = {} as Record<string, string> } = {}) => {
    const { DATAHUB_API_KEY: _, ...settings } = env();
    const { stdout } = await promisify(execFile)(process.execPath, [command, ...args], {
      env: { ...inherited, ...settings, DATAHUB_URL: `http://127.0.0.1:${port}`, ...own },
    });
    return JSON.parse(stdout);
  };
  const newAccount = (name: string) => ['keys', 'create', '--name', name, '--new-account'];

  const forms: [string, () => Promise<{ port: number; close(): Promise<void> }>][] = [
    ['one process', () => openHub(env())],
    ['four processes', () => startDistributed(env(), 'ignore')],
  ];
  it.each(forms.slice(0, scaled(1, 2)))(
    'make an account while the hub runs in %s, and while it does not',
    async (_, start) => {
      // As a process that was killed leaves it.
      await mkdir(join(dir, 'operator'));
      await writeFile(join(dir, 'operator', 'socket'), '');
      const before = await run(newAccount('before'));
      let hub = await start();
      const api = (withKey = key) => createApi({ url: `http://127.0.0.1:${hub.port}`, key: withKey });
      await api().ok(api().post('/v1/hubs', { label: 'ours' }));
      const during = await run(newAccount('during'), hub);
      expect(new Set([before.accountId, during.accountId]).size).toBe(2);
      const theirs = api(during.key);
      expect(await theirs.ok(theirs.get('/v1/hubs'))).toEqual([]);
      const { hubId } = await theirs.ok(theirs.post('/v1/hubs', { label: 'theirs' }));
      expect(await theirs.ok(theirs.get(`/v1/audit?resourceId=${during.keyId}`))).toMatchObject([
        { action: 'key.create', keyId: 'operator' },
      ]);

      const { mode } = await stat(join(dir, 'operator', 'socket'));
      expect([mode & 0o777, (await stat(join(dir, 'operator'))).mode & 0o777]).toEqual([0o600, 0o700]);
      await hub.close();
      await expect(stat(join(dir, 'operator', 'socket'))).rejects.toThrow('ENOENT');

      const after = await run(newAccount('after'));
      hub = await start();
      for (const { key: one } of [before, after]) expect((await api(one).get('/v1/hubs')).body).toEqual([]);
      expect((await api(during.key).get('/v1/hubs')).body).toMatchObject([{ hubId }]);
      await hub.close();
    },
  );

  it('explain themselves when asked with --help', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [command, '--help']);
    expect([stdout.startsWith('usage: datahub COMMAND'), stderr]).toEqual([true, '']);
  });

  it('work on the first account’s keys without a key at hand', async () => {
    const hub = await openHub(env());
    const made = await run(['keys', 'create', '--name', 'job', '--scopes', 'hubs:read'], hub);
    const rotated = await run(['keys', 'rotate', made.keyId], hub);
    const own = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const limits = { maxRows: 5, context: { region: 'north', price: 1.5 } };
    await own.ok(own.post('/v1/keys', { name: 'page', scopes: ['queries:execute'], limits }));
    const listed = await run(['keys', 'list'], hub);
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['job', 'page']));
    const byId = (keys: { keyId: string }[]) => keys.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    const used = { lastUsedAt: expect.toBeOneOf([null, expect.any(String)]) };
    const overApi = byId(await own.ok(own.get('/v1/keys'))).map((one) => ({ ...one, ...used }));
    expect(byId(listed)).toEqual(overApi);
    await run(['keys', 'revoke', rotated.keyId], hub);
    const url = `http://127.0.0.1:${hub.port}`;
    expect((await createApi({ url, key: made.key }).get('/v1/hubs')).status).toBe(200);
    expect((await createApi({ url, key: rotated.key }).get('/v1/hubs')).status).toBe(401);
    const wrong = { message: expect.stringContaining('scopes.0 must be one of') };
    await expect(run(['keys', 'create', '--name', 'x', '--scopes', 'all'], hub)).rejects.toMatchObject(wrong);
    await hub.close();
  });

  it('do not make a store of their own beside a hub that runs elsewhere', async () => {
    const hub = await openHub(env());
    const elsewhere = { port: hub.port, with: { DATAHUB_DATA_DIR: join(dir, 'elsewhere') } };
    await expect(run(newAccount('x'), elsewhere)).rejects.toMatchObject({
      message: expect.stringContaining('but not with the store here'),
    });
    await expect(stat(join(dir, 'elsewhere'))).rejects.toThrow('ENOENT');
    await hub.close();
  });

  it('make no store to look for keys in', async () => {
    const nothing = { message: expect.stringContaining('There is no') };
    for (const args of [
      ['keys', 'list'],
      ['keys', 'revoke', 'dh.key.x'],
    ])
      await expect(run(args)).rejects.toMatchObject(nothing);
    await expect(stat(join(dir, 'catalog.db'))).rejects.toThrow('ENOENT');
  });

  it('leave the store here alone if the hub is on another machine that does not answer', async () => {
    const made = await run(['keys', 'create', '--name', 'here']);
    const away = { with: { DATAHUB_URL: 'http://127.0.0.2:8080', DATAHUB_API_KEY: key } };
    const noHub = { code: 6, message: expect.stringContaining('No hub answers') };
    for (const args of [
      ['keys', 'create', '--name', 'x'],
      ['keys', 'revoke', made.keyId],
    ])
      await expect(run(args, away)).rejects.toMatchObject(noHub);
    const notHere = { code: 6, message: expect.stringContaining('the store here is not its own') };
    await expect(run(newAccount('x'), away)).rejects.toMatchObject(notHere);
    expect((await run(['keys', 'list'])).map(({ name }: { name: string }) => name)).toEqual(['here']);
  });

  it('compact the files of a hub that is stopped, and refuse those of one that runs', async () => {
    const hub = await openHub(env());
    const refused = { message: expect.stringContaining('Another process has the store file open') };
    await expect(run(['store', 'compact', '--json'], hub)).rejects.toMatchObject(refused);
    await hub.close();
    const compacted = await run(['store', 'compact', '--json']);
    expect(compacted.map(({ file }: { file: string }) => file)).toEqual(
      ['catalog.db', 'ml.db'].map((name) => join(dir, name)),
    );
    const again = await openHub(env());
    const api = createApi({ url: `http://127.0.0.1:${again.port}`, key });
    expect((await api.get('/v1/hubs')).status).toBe(200);
    await again.close();
  });

  it('survive connections that send nothing, too much, or nonsense', async () => {
    const hub = await openHub(env());
    const path = join(dir, 'operator', 'socket');
    const send = (text: string) =>
      new Promise<string>((resolve) => {
        let answer = '';
        const socket = connect({ path, allowHalfOpen: true }, () => socket.end(text));
        socket.on('data', (chunk) => {
          answer += chunk;
        });
        socket.on('error', () => {}).on('close', () => resolve(answer));
      });
    for (const text of ['', 'x', '[]', 'null', '{"action":"create","scopes":1}', 'x'.repeat(1_000_000)]) {
      expect(await send(text)).not.toContain('"key"');
    }
    expect((await run(newAccount('still there'), hub)).key).toMatch(/^dhk_/);
    await hub.close();
  });
});
