/** The secrets that sign deliveries, each bound to its destination. */

import type { SealedSecrets } from '@datahub/proto/catalog/v1/catalog_internal';
import type { SealBinding } from '@datahub/sealing/envelope';
import { keyIdOf, type Opener } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../definitions/definition.ts';
import type { Resealed, Resealing } from './resealed.ts';

export const openSecrets = (
  opener: Opener,
  { destinationId, sealed }: Pick<SealedSecrets, 'destinationId' | 'sealed'>,
): Promise<string[]> => Promise.all(sealed.map((text) => opener.open(text, bindingOf(destinationId))));

const bindingOf = (destinationId: string): SealBinding => ({
  sourceId: destinationId,
  engine: 'webhook',
  host: '',
  port: 0,
  tlsMode: '',
  field: 'password',
});

const callTimeoutMs = 30_000;
const pageSizeDefault = 50;

interface Options extends Resealing {
  catalog: Pick<Catalog, 'listSealedSecrets' | 'resealSecrets'>;
}

/** Reseals the secrets of all destinations once, and skips those that cannot be opened. */
export async function resealDestinations(options: Options): Promise<Resealed> {
  const { catalog, opener, signal, pageSize = pageSizeDefault } = options;
  const result: Resealed = { moved: 0, unopened: 0, contended: 0 };
  const ctx = () => createCallContext({ timeoutMs: callTimeoutMs });
  for (let afterDestinationId = ''; !signal.aborted; ) {
    const { secrets: page } = await catalog.listSealedSecrets({ afterDestinationId, limit: pageSize }, ctx());
    for (const secrets of page) {
      for (const text of secrets.sealed) options.onFound?.(text);
      if (secrets.sealed.every((text) => keyIdOf(text) === opener.currentKeyId)) continue;
      const sealed = await sealAgain(secrets, options);
      if (sealed === undefined) result.unopened += 1;
      else {
        const { done } = await catalog.resealSecrets({ secrets: { ...secrets, sealed } }, ctx());
        if (done) result.moved += 1;
        else result.contended += 1;
      }
    }
    const last = page.at(-1);
    if (last === undefined) break;
    afterDestinationId = `${last.accountId}/${last.destinationId}`;
  }
  return result;
}

/** Resolves to undefined if one cannot be opened: its owner has to rotate it. */
async function sealAgain(secrets: SealedSecrets, { opener, seal }: Options): Promise<string[] | undefined> {
  try {
    const plain = await openSecrets(opener, secrets);
    return await Promise.all(plain.map((text) => seal(text, bindingOf(secrets.destinationId))));
  } catch (err) {
    if (!(err instanceof HubError) || err.retryable !== false) throw err;
    return undefined;
  }
}
