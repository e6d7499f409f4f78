import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { createApi } from '../support/api.ts';
import { inherited } from '../support/inherited.ts';
import { hubSettings } from '../support/spawned.ts';

const command = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));
const key = 'a-key-of-the-operator-with-enough-characters';
const connectionSettings = { host: 'db.example', port: 5432, user: 'u', password: 'p', database: 'd' };

describe('a hub whose files were lost in part', () => {
  let dir: string;
  const start = () =>
    openHub({
      ...hubSettings(dir, key),
    });
  const apiOf = ({ port }: Hub) => createApi({ url: `http://127.0.0.1:${port}`, key });

  /** As an operator types it. */
  const forget = async (...options: string[]) => {
    const args = [command, 'store', 'forget-credentials', '--json', ...options];
    const env = { ...inherited, ...hubSettings(dir, key) };
    return JSON.parse((await promisify(execFile)(process.execPath, args, { env })).stdout);
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-lost-'));
    const hub = await start();
    const api = apiOf(hub);
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'h' }));
    await api.ok(api.post('/v1/sources', { hubId, label: 's', engine: 'postgres', connectionSettings }));
    await hub.close();
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('does not start without the sealing keys, nor with others, and starts with its own', async () => {
    const [path, away] = [join(dir, 'sealing-keys'), join(dir, 'away')];
    await rename(path, away);
    await expect(start()).rejects.toThrow(
      /sealing-keys is missing, but the store has credentials that are sealed/,
    );
    const other = await generateKeyPair();
    await writeFile(path, `${other.privateKey}\n`);
    await expect(start()).rejects.toThrow(
      /stored credentials are sealed to other keys than those in .*sealing-keys/,
    );
    await rename(away, path);
    const hub = await start();
    expect((await apiOf(hub).get('/v1/hubs')).body).toHaveLength(1);
    await hub.close();
  });

  it('starts without the credentials once they were removed, and with everything else', async () => {
    let hub = await start();
    let api = apiOf(hub);
    const [{ hubId }] = await api.ok(api.get('/v1/hubs'));
    const [{ sourceId }] = await api.ok(api.get(`/v1/sources?hubId=${hubId}`));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 1', context: [] };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const url = 'https://example.com/hook';
    const hook = await api.ok(api.post('/v1/destinations', { label: 'd', url, events: ['query.broken'] }));
    await hub.close();
    await rm(join(dir, 'sealing-keys'));

    const listed = await forget();
    expect(listed).toEqual({ removed: false, keyIds: [], forgotten: expect.any(Array) });
    expect(listed.forgotten).toEqual([
      expect.objectContaining({ kind: 'source', id: sourceId, label: 's', hub: 'h' }),
      expect.objectContaining({ kind: 'destination', id: hook.destinationId, label: 'd' }),
    ]);
    await expect(start()).rejects.toThrow(/store forget-credentials/);
    expect(await forget('--yes')).toEqual({ ...listed, removed: true });

    hub = await start();
    api = apiOf(hub);
    const execute = () => api.post('/v1/queries/execute', { queryId });
    expect(await execute()).toMatchObject({
      status: 503,
      body: { code: 'UNAVAILABLE', retryable: false, detail: expect.stringContaining('has no credentials') },
    });
    const source = `/v1/sources/${sourceId}`;
    expect(await api.ok(api.get(source))).toMatchObject({
      connectionSettings: { host: 'db.example', user: '', password: '' },
    });
    expect((await api.put(source, { label: 'renamed' })).status).toBe(200);
    expect(await api.put(source, { connectionSettings: { password: 'new' } })).toMatchObject({
      status: 400,
      body: { errors: [{ detail: expect.stringContaining('must be sent again') }] },
    });
    await api.ok(
      api.put(source, { connectionSettings: { user: 'u', password: 'new', host: '127.0.0.1', port: 9 } }),
    );
    expect((await execute()).body).toMatchObject({ code: 'SOURCE_UNREACHABLE' });

    const destination = `/v1/destinations/${hook.destinationId}`;
    const enable = () => api.put(destination, { label: 'd', url, events: ['query.broken'], disabled: false });
    expect((await enable()).status).toBe(409);
    await api.ok(api.post(`${destination}/rotate`, {}));
    expect((await enable()).status).toBe(200);
    await hub.close();
    expect((await forget('--yes')).forgotten).toEqual([]);
  });

  it('does not begin anew over an empty store beside files of a used one', async () => {
    await truncate(join(dir, 'catalog.db'));
    await expect(start()).rejects.toThrow(/catalog.db is empty, but .*ml.db next to it is not/);
    await rm(join(dir, 'ml.db'));
    await (await start()).close();
  });

  it('does not begin anew without the examples of a used hub, nor with exchanged files', async () => {
    const [catalog, ml, away] = ['catalog.db', 'ml.db', 'away'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    await rename(ml, away);
    await expect(start()).rejects.toThrow(/ml.db is missing, so the classifiers of the hub are lost/);
    await writeFile(ml, '');
    await expect(start()).rejects.toThrow(/ml.db is empty/);
    await rename(catalog, ml);
    await rename(away, catalog);
    await expect(start()).rejects.toThrow(/catalog.db and ml.db were exchanged/);
    await rename(catalog, away);
    await rename(ml, catalog);
    await rename(away, ml);
    await (await start()).close();
  });

  it('does not begin anew without a store beside the examples of a used one', async () => {
    const first = await start();
    const api = apiOf(first);
    await api.ok(api.post('/v1/classifiers', { name: 'c' }));
    await first.close();
    const away = join(dir, 'away');
    await rename(join(dir, 'catalog.db'), away);
    await expect(start()).rejects.toThrow(/catalog.db is missing, but .*ml.db next to it has data/);
    await rename(away, join(dir, 'catalog.db'));
    const again = await start();
    expect(await apiOf(again).ok(apiOf(again).get('/v1/classifiers'))).toHaveLength(1);
    await again.close();
  });
});
