import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Hub, openHub } from '../../services/hub/src/compose.ts';
import { createApi } from '../support/api.ts';
import { hubSettings } from '../support/spawned.ts';

const key = 'a-key-of-the-operator-with-enough-characters';
const connectionSettings = { host: 'db.example', port: 5432, user: 'u', password: 'p', database: 'd' };

describe('a hub whose files were lost in part', () => {
  let dir: string;
  const start = () =>
    openHub({
      ...hubSettings(dir, key),
    });
  const apiOf = ({ port }: Hub) => createApi({ url: `http://127.0.0.1:${port}`, key });

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

  it('does not begin anew over an empty store beside files of a used one', async () => {
    await truncate(join(dir, 'catalog.db'));
    await expect(start()).rejects.toThrow(/catalog.db is empty, but .*ml.db next to it is not/);
    await rm(join(dir, 'ml.db'));
    await (await start()).close();
  });
});
