/** Checks at the start that the sealing keys open the stored credentials. */

import { parseKey } from '@datahub/sealing/key-pair';
import { keyIdOf } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../definitions/definition.ts';
import { sealedTextsOf } from './unseal.ts';

/** The check passes if one credential of this many can be opened: a damaged one must not stop the hub. */
const readMax = 100;
const timeoutMs = 30_000;

/** Rejects if there are sealed credentials and none of them is sealed to one of the keys. */
export async function requireMatchingKeys(
  catalog: Pick<Catalog, 'listSealed' | 'listSealedSecrets'>,
  privateKeys: readonly string[],
  keyFile: string,
): Promise<void> {
  const ctx = createCallContext({ timeoutMs });
  const { sources } = await catalog.listSealed({ afterSourceId: '', limit: readMax }, ctx);
  const { secrets } = await catalog.listSealedSecrets({ afterDestinationId: '', limit: readMax }, ctx);
  const keyIds = new Set(privateKeys.map((key) => parseKey(key).id));
  const credentials = [
    ...sources.flatMap(({ sealed }) => sealedTextsOf(sealed)),
    ...secrets.flatMap(({ sealed }) => sealed),
  ];
  if (credentials.length === 0 || credentials.some((text) => keyIds.has(keyIdOf(text) ?? ''))) return;
  throw new HubError(
    'VALIDATION',
    `The stored credentials are sealed to other keys than those in ${keyFile}. Restore the key file that belongs to this store. If it is lost, run \`npm run datahub -- store forget-credentials\`.`,
  );
}
