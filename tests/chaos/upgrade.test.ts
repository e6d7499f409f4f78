/**
 * Upgrades an older hub as docs/operations.md says. `old-data` has the data directory of the version of 2026-11-22 (commit
 * 63dd7fa), made by its `npm start` and its API: the demo, a key for web pages, a query in a folder, and a classifier with
 * 1,240 examples and a snapshot.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, createApi } from '../support/api.ts';
import { blocksOf, prepare, root } from './support/documented.ts';
import { openShell, type Shell } from './support/shell.ts';

const archive = join(root, 'tests/chaos/old-data/2026-11-22.tar.gz');
const oldPageKey = 'dhk_0nn13chk1f83pzgfkxzh0a2qr160rn6686e7xj';

describe('an upgrade', () => {
  let place: string;
  let shell: Shell;
  let api: Api;
  let url: string;

  beforeAll(async () => {
    await mkdir(join(root, '.cache'), { recursive: true });
    place = await mkdtemp(join(root, '.cache', 'upgrade-'));
    await mkdir(join(place, 'data'), { mode: 0o700 });
    execFileSync('tar', ['-xzf', archive, '-C', join(place, 'data')]);
    const { PATH, HOME } = process.env;
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const env = { PATH, HOME, PORT: String(port), PROJECT: root, PLACE: place };
    shell = await openShell({ cwd: place, env, prepare });
    const steps = blocksOf('docs/operations.md')
      .flatMap((block) => block.steps.map(({ command }) => command))
      .join('\n');
    const [backup, start] = [/^npm run .*before-upgrade/m, /^git pull.*&$/m].map(
      (pattern) => pattern.exec(steps)?.[0] ?? '',
    ) as [string, string];
    await shell.type(backup.replace(/\S+before-upgrade/, join(place, 'before-upgrade')));
    await shell.type(start.replace('git pull && ', ''));
    await shell.type('welcomed');
    api = createApi({ url, key: (await readFile(join(place, 'data/api-key'), 'utf8')).trim() });
  });
  afterAll(async () => {
    await shell?.type('kill %% 2>/dev/null; wait').catch(() => {});
    await shell?.close();
    await rm(place, { recursive: true, force: true });
  });

  const named = async (path: string, name: string) => {
    const list: any[] = await api.ok(api.get(path));
    return list.find(({ name: own, label = own, meta = { label } }) => meta.label === name);
  };

  it('takes the backup that can be restored', () => {
    for (const file of ['catalog.db', 'ml.db'])
      expect(existsSync(join(place, 'before-upgrade', file))).toBe(true);
  });

  it('keeps keys, their limits and the audit log', async () => {
    expect(await named('/v1/keys', 'old page')).toMatchObject({
      scopes: ['queries:execute'],
      limits: { origins: ['https://old.example'], maxRows: 10 },
    });
    const page = createApi({ url, key: oldPageKey });
    const headers = { origin: 'https://old.example' };
    expect((await page.ok(page.get('/v1/keys/current', { headers }))).scopes).toEqual(['queries:execute']);
    const log = await api.ok(api.get('/v1/audit?limit=200'));
    expect(log.map(({ action }: { action: string }) => action)).toContain('query.create');
  });

  it('runs the queries of the old version with the stored credentials, and changes them', async () => {
    const { hubId } = await named('/v1/hubs', 'Demo');
    const { queryId } = (await named(`/v1/queries?hubId=${hubId}`, 'Old query')).config.query;
    const body = { queryId, context: { n: '12345678901234567' } };
    const executed = await api.post('/v1/queries/execute', body);
    expect(executed.text).toBe('{"data":[{"n":"12345678901234567","d":1.50}]}');
    await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: 'New name' } }));
    const versions = await api.ok(api.get(`/v1/queries/${queryId}/versions`));
    expect(versions.map(({ label }: { label: string }) => label)).toEqual(['New name', 'Old query']);
  });

  it('predicts as the old version did, and trains on', async () => {
    const { classifierId } = await named('/v1/classifiers', 'Old mail');
    const path = `/v1/classifiers/${classifierId}`;
    const predicted = await api.ok(api.post(`${path}/predict`, { context: 'where is parcel 12' }));
    // The old version answered the same with 0.99994.
    expect(predicted).toMatchObject({ label: 'delivery', confidence: expect.closeTo(0.9999, 3) });
    const examples = [{ label: 'delivery', context: 'is my parcel lost' }];
    const { results } = await api.ok(api.post(`${path}/train`, { examples }));
    expect(results[0].observations).toBe(415);
    expect((await api.ok(api.get(`${path}/evaluation`))).examples).toBeGreaterThan(1_200);
  });
});
