import type { SealedSecrets } from '@datahub/proto/catalog/v1/catalog_internal';
import { generateKeyPair } from '@datahub/sealing/key-pair';
import { createOpener, keyIdOf } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { expect, it } from 'vitest';
import { openSecrets, resealDestinations } from '../../src/credentials/destination-secrets.ts';

it('moves the secrets of all destinations to the current key, page by page', async () => {
  const [old, current, lost] = await Promise.all([generateKeyPair(), generateKeyPair(), generateKeyPair()]);
  const [sealOld, seal, sealLost] = (await Promise.all([
    ...[old, current, lost].map(({ publicKey }) => createSealer([publicKey])),
  ])) as [
    Awaited<ReturnType<typeof createSealer>>,
    Awaited<ReturnType<typeof createSealer>>,
    Awaited<ReturnType<typeof createSealer>>,
  ];
  const place = { engine: 'webhook', host: '', port: 0, tlsMode: '', field: 'password' } as const;
  const stored: SealedSecrets[] = await Promise.all(
    [sealOld, sealLost, seal, sealOld, sealOld].map(async (sealWith, i) => {
      const binding = { ...place, sourceId: `d${i}` };
      const sealed = [await sealWith(`new ${i}`, binding), await sealWith(`old ${i}`, binding)];
      return { accountId: 'a', destinationId: `d${i}`, version: 1, sealed };
    }),
  );
  const catalog = {
    listSealedSecrets: async ({
      afterDestinationId,
      limit,
    }: {
      afterDestinationId: string;
      limit: number;
    }) => {
      const from = stored.findIndex(({ destinationId }) => `a/${destinationId}` === afterDestinationId) + 1;
      return { secrets: structuredClone(stored.slice(from, from + limit)) };
    },
    resealSecrets: async ({ secrets }: { secrets?: SealedSecrets | undefined }) => {
      const found = stored.find(({ destinationId }) => destinationId === secrets?.destinationId);
      // The last one is changed meanwhile, once.
      if (found?.destinationId === 'd4' && found.version === 1) found.version = 2;
      if (found?.version !== secrets?.version) return { done: false };
      Object.assign(found as object, { ...secrets, version: 3 });
      return { done: true };
    },
  };
  const opener = await createOpener([current.privateKey, old.privateKey]);
  const options = { catalog, opener, seal, signal: new AbortController().signal, pageSize: 2 };
  expect(await resealDestinations(options)).toEqual({ moved: 2, unopened: 1, contended: 1 });
  expect(await resealDestinations(options)).toEqual({ moved: 1, unopened: 1, contended: 0 });
  const later = await createOpener([current.privateKey]);
  for (const i of [0, 2, 3, 4])
    expect(await openSecrets(later, stored[i] as SealedSecrets)).toEqual([`new ${i}`, `old ${i}`]);
  expect(keyIdOf(stored[1]?.sealed[0] ?? '')).not.toBe(later.currentKeyId);
});
