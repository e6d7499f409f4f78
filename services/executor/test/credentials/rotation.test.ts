import type {
  ResealedSource,
  ResealRequest,
  ResolvedSource,
  SealedCredentials,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createOpener, keyIdOf } from '@datahub/sealing/opener';
import { createSealer, type Seal } from '@datahub/sealing/sealer';
import { HubError } from '@datahub/service-kit/call/error';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { expect, test, vi } from 'vitest';
import { resealAll, startResealing } from '../../src/credentials/rotation.ts';
import { bindingOf, unseal } from '../../src/credentials/unseal.ts';
import { toSourceDefinition } from '../../src/definitions/definition.ts';
import { source as plain } from '../fakes/pipeline.ts';

async function makeSource(sourceId: string, seal: Seal): Promise<ResolvedSource> {
  const ssh = { host: 'bastion.example', port: 22, user: 'hub', hostKey: 'SHA256:x' };
  const bare: ResolvedSource = { ...plain, sourceId, ssh };
  const definition = toSourceDefinition(bare);
  const sealed: SealedCredentials = {
    user: await seal('jo', bindingOf(definition, 'user')),
    password: await seal(`secret of ${sourceId}`, bindingOf(definition, 'password')),
    tlsKey: '',
    sshPassword: await seal(`bastion of ${sourceId}`, bindingOf(definition, 'ssh.password')),
  };
  return { ...bare, sealed };
}

function store(sources: ResolvedSource[], { sourceId, expectedVersion, sealed }: ResealedSource): boolean {
  const source = sources.find((one) => one.sourceId === sourceId);
  if (source?.version !== expectedVersion) return false;
  Object.assign(source, { sealed, version: source.version + 1 });
  return true;
}

/** Pages like the catalog does, and refuses what changed meanwhile. */
function fakeCatalog(sources: ResolvedSource[]) {
  return {
    listSealed: async ({ afterSourceId, limit }: { afterSourceId: string; limit: number }) => {
      const start =
        sources.findIndex(({ accountId, sourceId }) => `${accountId}/${sourceId}` === afterSourceId) + 1;
      return { sources: sources.slice(start, start + limit).map((source) => ({ ...source })) };
    },
    reseal: async ({ more, ...first }: ResealRequest) => {
      const [done = false, ...moreDone] = [first, ...more].map((resealed) => store(sources, resealed));
      return { done, moreDone };
    },
  };
}

test('moves everything to the current key, page by page, and holds nothing up', async () => {
  const [old, current, lost] = await Promise.all([generateKeyPair(), generateKeyPair(), generateKeyPair()]);
  const [sealOld, seal, sealLost] = await Promise.all(
    [old, current, lost].map(({ publicKey }) => createSealer([publicKey])),
  );
  const opener = await createOpener([current.privateKey, old.privateKey]);
  const sources: ResolvedSource[] = [];
  for (let i = 0; i < 45; i++)
    sources.push(await makeSource(`s${i}`, (i === 7 ? sealLost : i === 8 ? seal : sealOld) as Seal));
  const catalog = fakeCatalog(sources);
  const contended = sources[9] as ResolvedSource;
  const { reseal } = catalog;
  const lots: number[] = [];
  catalog.reseal = async (request) => {
    lots.push(1 + request.more.length);
    contended.version = 2;
    return reseal(request);
  };

  const options = { pageSize: 20, catalog, opener, seal: seal as Seal, signal: new AbortController().signal };
  expect(await resealAll(options)).toEqual({ moved: 42, unopened: 1, contended: 1 });
  expect(await resealAll(options)).toEqual({ moved: 1, unopened: 1, contended: 0 });
  // One call a page, and none where nothing is left to move.
  expect(lots).toEqual([18, 20, 5, 1]);
  const onOldKey = sources.filter(({ sealed }) => keyIdOf(sealed?.password ?? '') !== opener.currentKeyId);
  expect(onOldKey.map(({ sourceId }) => sourceId)).toEqual(['s7']);
  const later = await createOpener([current.privateKey]);
  expect((await unseal(toSourceDefinition(sources[40]), later)).password).toBe('secret of s40');
});

test('resealing runs in the background if there are several keys', async () => {
  const [old, current] = await Promise.all([generateKeyPair(), generateKeyPair()]);
  const source = await makeSource('s', await createSealer([old.publicKey]));
  const busy = await makeSource('t', await createSealer([old.publicKey]));
  const catalog = fakeCatalog([source, busy]);
  const { reseal, listSealed } = catalog;
  let away = true;
  catalog.listSealed = async (request) => {
    if (!away) return listSealed(request);
    away = false;
    throw new HubError('UNAVAILABLE', 'not yet');
  };
  let failing = true;
  catalog.reseal = async (request) => {
    if (busy.version === 1) busy.version = 2;
    if (!failing) return reseal(request);
    failing = false;
    // Some may be stored all the same.
    store([source], request);
    throw new HubError('UNAVAILABLE', 'not all');
  };
  const logger = createLogger({ service: 'executor', level: 'silent', pretty: false });
  const start = async (...privateKeys: string[]) => {
    const opener = await createOpener(privateKeys);
    const destinations = {
      listSealedSecrets: async () => ({ secrets: [] }),
      resealSecrets: async () => ({ done: false }),
    };
    return startResealing({ privateKeys, opener, catalog: { ...catalog, ...destinations }, logger });
  };
  const alone = await start(old.privateKey);
  expect(alone.metrics()).toBe('');
  await alone.close();
  expect(source.version).toBe(1);
  const resealing = await start(current.privateKey, old.privateKey);
  // What somebody changed meanwhile, or a catalog that is not there yet, is not left for the next regular run.
  await vi.waitFor(() => expect([source.version, busy.version]).toEqual([2, 3]), { timeout: 60_000 });
  // It looks once more after it has moved something, and then says that the old key may go.
  const [oldId, currentId] = [old, current].map(({ publicKey }) => publicKey.split(':')[0]);
  await vi.waitFor(
    () => expect(resealing.metrics()).toContain(`datahub_sealed_secrets{key="${oldId}"} 0\n`),
    {
      timeout: 60_000,
    },
  );
  expect(resealing.metrics()).toContain(`datahub_sealed_secrets{key="${currentId}"} 6\n`);
  await resealing.close();
  expect(keyIdOf(source.sealed?.user ?? '')).toBe((await createOpener([current.privateKey])).currentKeyId);
});

test('does not keep a stop waiting for a catalog that does not answer', async () => {
  const [old, current] = [await generateKeyPair(), await generateKeyPair()];
  const asked = vi.fn(() => new Promise<never>(() => {}));
  const catalog = { listSealed: asked, reseal: asked, listSealedSecrets: asked, resealSecrets: asked };
  const privateKeys = [current.privateKey, old.privateKey];
  const opener = await createOpener(privateKeys);
  const logger = createLogger({ service: 'executor', level: 'silent', pretty: false });
  const resealing = await startResealing({ privateKeys, opener, catalog, logger });
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());
  await resealing.close();
});
