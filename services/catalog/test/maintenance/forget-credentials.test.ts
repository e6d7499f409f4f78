import { generateKeyPair } from '@datahub/sealing/key-pair';
import { keyIdOf } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { expect, it } from 'vitest';
import { forgetCredentials, hasCredentials } from '../../src/maintenance/forget-credentials.ts';
import { makeSource } from '../../src/source.ts';
import { openCatalogStore } from '../../src/store.ts';

const hostKey = `SHA256:${'A'.repeat(43)}`;

it('forgets all credentials of a source behind a bastion if one of them cannot be opened', async () => {
  const store = await openCatalogStore('sqlite::memory:');
  const [lost, held] = await Promise.all([generateKeyPair(), generateKeyPair()]);
  const [sealLost, sealHeld] = await Promise.all(
    [lost, held].map(({ publicKey }) => createSealer([publicKey])),
  );
  const settings = { host: 'db', port: 1, database: 'd', user: 'u', password: 'p' };
  const ssh = { host: 'b', port: undefined, user: 'hub', hostKey, privateKey: undefined, password: 'secret' };
  const make = (id: string, seal: typeof sealLost) =>
    makeSource(
      { hubId: 'h', parentNodeId: 'n', label: id, engine: 'mysql', settings: { ...settings, ssh } },
      { accountId: 'a', createId: () => id, nowMs: 1, seal: seal as NonNullable<typeof seal> },
    );
  // Only the secret of the bastion is sealed to the lost key.
  const [kept, partly] = [await make('s1', sealHeld), await make('s2', sealHeld)];
  const other = await make('s2', sealLost);
  await store.sources.insert(kept);
  await store.sources.insert({ ...partly, ssh: other.ssh as NonNullable<typeof other.ssh> });
  const options = {
    keyIds: new Set([keyIdOf(kept.user.sealed) as string]),
    ...{ nowMs: () => 2, createId: () => 'evt', removes: true },
  };
  expect((await forgetCredentials(store, options)).map(({ id }) => id)).toEqual(['s2']);
  const none = { sealed: '', mask: '' };
  expect(await store.sources.get('a', 's2')).toMatchObject({
    ...{ user: none, password: none, version: 2 },
    ssh: { host: 'b', port: 22, user: 'hub', hostKey, password: none },
  });
  expect(await store.sources.get('a', 's1')).toEqual(kept);
  expect(await hasCredentials(store)).toBe(true);
  await store.close();
});
