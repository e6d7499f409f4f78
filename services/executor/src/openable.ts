/** Whether the sealing keys at hand are those of the stored credentials, asked once at the start. */

import { parseKey } from '@datahub/sealing/key-pair';
import { keyIdOf } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from './service.ts';

/** So many sources are looked at: a single one that cannot be opened stops nobody else. */
const lookedAtMax = 100;
const timeoutMs = 30_000;

/** Rejects where there are sealed credentials and none of them is sealed to one of the keys. */
export async function requireOpenable(
  catalog: Pick<Catalog, 'listSealed'>,
  privateKeys: readonly string[],
  keyFile: string,
): Promise<void> {
  const ctx = createCallContext({ timeoutMs });
  const { sources } = await catalog.listSealed({ afterSourceId: '', limit: lookedAtMax }, ctx);
  const held = new Set(privateKeys.map((key) => parseKey(key).id));
  const sealedTo = sources.flatMap(({ sealed }) => Object.values(sealed ?? {}).filter((text) => text !== ''));
  if (sealedTo.length === 0 || sealedTo.some((text) => held.has(keyIdOf(text) ?? ''))) return;
  throw new HubError(
    'VALIDATION',
    `${keyFile} has other keys than the stored credentials are sealed to. Put the file back that belongs to this store.`,
  );
}
