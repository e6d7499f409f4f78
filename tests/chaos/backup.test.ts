import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { watch } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeBackup } from '../../services/hub/src/commands/backup.ts';
import { openHub } from '../../services/hub/src/compose.ts';
import { startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { inherited } from '../support/inherited.ts';
import { hubSettings } from '../support/spawned.ts';

const command = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));

describe('a backup', () => {
  let dir: string;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const env = (dataDir = join(dir, 'data')) => ({
    ...hubSettings(dataDir, key),
    DATAHUB_EDGE: 'none',
    DATAHUB_DEMO: '0',
  });

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-backup-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const backup = async (directory: string, more: string[] = [], settings: Record<string, string> = {}) => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [command, 'backup', directory, ...more],
      { env: { ...inherited, ...env(), ...settings } },
    );
    return { written: JSON.parse(stdout).written.map((path: string) => path.slice(dir.length + 1)), stderr };
  };
  const saying = (text: string) => ({ code: 1, message: expect.stringContaining(text) });

  const forms: [string, () => Promise<{ port: number; close(): Promise<void> }>][] = [
    ['one process', () => openHub(env())],
    ['four processes', () => startDistributed(env(), 'ignore')],
  ];
  it.each(forms)(
    'taken during writes has all earlier changes, and a hub starts from it: %s',
    async (_, start) => {
      const hub = await start();
      const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
      const before: string[] = [];
      const during: string[] = [];
      const write = async (into: string[]) => {
        const label = `hub ${before.length + during.length}`;
        const { hubId } = await api.ok(api.post('/v1/hubs', { label }));
        into.push(hubId);
      };
      for (let i = 0; i < 100; i++) await write(before);
      const { id } = await api.ok(api.post('/v1/classifiers', { name: 'kept' }));
      await api.ok(api.post(`/v1/classifiers/${id}/train`, { label: 'a', context: 'an apple' }));

      let copying = true;
      const writing = (async () => {
        while (copying) await write(during);
      })();
      const { written, stderr } = await backup(join(dir, 'copy')).finally(() => {
        copying = false;
      });
      await writing;
      expect(written).toEqual(['copy/catalog.db', 'copy/ml.db']);
      expect(stderr).toContain('sealing-keys');
      expect(during.length).toBeGreaterThan(0);
      await hub.close();
      expect((await readdir(join(dir, 'copy'))).sort()).toEqual(['catalog.db', 'ml.db']);
      const modes = ['copy', ...written].map(async (path) => (await stat(join(dir, path))).mode & 0o777);
      expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600]);

      const restored = await openHub(env(join(dir, 'copy')));
      const again = createApi({ url: restored.url, key });
      for (const hubId of before) expect((await again.get(`/v1/hubs/${hubId}`)).status).toBe(200);
      const predicted = again.post(`/v1/classifiers/${id}/predict`, { context: 'an apple' });
      expect(await again.ok(predicted)).toMatchObject({ label: 'a' });
      await again.ok(again.post('/v1/hubs', { label: 'goes on' }));
      await restored.close();
    },
  );

  it('can be taken from a stopped hub, and replaces a backup only with --overwrite', async () => {
    const hub = await openHub(env());
    const api = createApi({ url: hub.url, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'ours' }));
    await hub.close();
    const copy = join(dir, 'copy');
    await backup(copy);
    await expect(backup(copy)).rejects.toMatchObject(saying('exists already'));
    await backup(copy, ['--overwrite']);
    const restored = await openHub(env(copy));
    const again = createApi({ url: restored.url, key });
    expect(await again.ok(again.get('/v1/hubs'))).toMatchObject([{ hubId }]);
    // A store that is in use is never replaced, not even with --overwrite.
    await expect(backup(copy, ['--overwrite'])).rejects.toMatchObject(
      saying('a hub uses or used this directory'),
    );
    await restored.close();
  });

  it.each(['the hub', 'a stopped hub'])(
    'that is cancelled between its files leaves none, and the older ones: of %s',
    async (form) => {
      const hub = await openHub(env());
      if (form === 'a stopped hub') await hub.close();
      const copy = join(dir, 'copy');
      await mkdir(copy);
      for (const name of ['catalog.db', 'ml.db']) await writeFile(join(copy, name), 'older');
      const cancelling = new AbortController();
      const watching = watch(copy, (_, name) => {
        if (name === 'catalog.db' || name === 'catalog.db.new') cancelling.abort();
      });
      const options = { directory: copy, overwrite: true, print: () => {}, signal: cancelling.signal };
      await expect(takeBackup(env(), options)).rejects.toThrow('cancelled');
      watching.close();
      const left = await Promise.all(
        (await readdir(copy)).map(async (name) => (await stat(join(copy, name))).size),
      );
      expect(left).toEqual([5, 5]);
      if (form === 'the hub') await hub.close();
    },
  );

  it('runs and sends nothing by itself with DATAHUB_OWN_WORK=0, as in the documented test', async () => {
    const hub = await openHub({ ...env(), DATAHUB_OWN_WORK: '0' });
    const api = createApi({ url: hub.url, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'copied' }));
    const connectionSettings = { host: '127.0.0.1', port: 1, database: 'd', user: 'u', password: 'p' };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const stored = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', stored))).config.query;
    const settings = { hubId, queryId, label: 'w', when: 'always', schedule: { everyS: 10 } };
    const { watchId } = await api.ok(api.post('/v1/watches', settings));
    const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
    // A gateway looks for runs twice a second.
    await wait(2_000);
    expect((await api.get(`/v1/watches/${watchId}/runs/${runId}`)).status).toBe(404);
    expect(await api.ok(api.get(`/v1/watches/${watchId}`))).toMatchObject({ running: false, lastRun: null });
    await hub.close();
  });

  it('reports why it cannot be taken', async () => {
    await expect(backup(join(dir, 'copy'))).rejects.toMatchObject(saying('DATAHUB_DATA_DIR or'));
    await (await openHub(env())).close();
    await expect(backup(join(dir, 'not', 'there'))).rejects.toMatchObject(saying('does not exist'));
    const mongodb = { DATAHUB_STORE_URL: 'mongodb://user:s3cret@db/hub' };
    const refused = backup(join(dir, 'copy'), [], mongodb);
    await expect(refused).rejects.toMatchObject(saying('mongodump'));
    await expect(refused).rejects.not.toMatchObject({ stderr: expect.stringContaining('s3cret') });
    await expect(stat(join(dir, 'copy'))).rejects.toThrow('ENOENT');
  });
});
