/** Loads keys, and that of the caller with what it reaches. */

import { withScope } from '@datahub/contract/roles';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { isIdOf } from '@datahub/service-kit/id';
import { type Catalog, notFound } from '../catalog.ts';
import type { KeyDoc } from '../documents.ts';
import { unknownKey } from '../key.ts';
import { isStronger, type KeyReach, requireVisible } from '../key-delegation.ts';
import { findKey, principalOf } from '../people/acting.ts';
import { fromLimits } from './to-proto.ts';

export async function loadKey({ store }: Catalog, accountId: string, keyId: string): Promise<KeyDoc> {
  const key = await store.keys.get(accountId, keyId);
  if (key === null) throw notFound('key');
  return key;
}

/**
 * The caller's key; null for the operator, and for internal callers whose key id is a name of their own. It is `key`
 * itself if that is the caller's: a second read could see an expiry that another call has set in between, and a key would
 * be refused as stronger than itself. A key of a person has the scopes and limits of the role that may read keys.
 */
export async function loadCaller(
  catalog: Catalog,
  { accountId, keyId }: Principal,
  key?: KeyDoc,
): Promise<KeyDoc | null> {
  if (!isIdOf('key', keyId) && !isIdOf('prsn', keyId)) return null;
  const caller = keyId === key?.id ? key : await findKey(catalog, { accountId, keyId });
  // Gateways cache keys: this one was revoked some seconds ago.
  if (caller === null) throw unknownKey();
  if (caller.personId === undefined) return caller;
  const acting = withScope(await principalOf(catalog, caller), 'keys:read');
  if (acting === undefined) throw new HubError('SCOPE_DENIED', 'This needs a key with the scope keys:read.');
  return { ...caller, scopes: acting.scopes, limits: fromLimits(acting.limits) };
}

/**
 * The scopes, limits and expiry of the caller's key: the stored ones, because gateways cache keys. Callers without a key
 * of the hub are trusted, and their keys need not expire.
 */
export function reachOf({ scopes, limits }: Principal, own: KeyDoc | null): KeyReach {
  return own ?? { scopes, limits: fromLimits(limits), expiresAt: null };
}

/** Throws SCOPE_DENIED for a key of which the caller may not read what it did: one that may do more than itself. */
export async function loadReadableKey(catalog: Catalog, ctx: CallContext, keyId: string): Promise<void> {
  const principal = requirePrincipal(ctx);
  const key = await loadKey(catalog, principal.accountId, keyId);
  const caller = await loadCaller(catalog, principal, key);
  requireVisible(caller, key);
  if (isStronger(reachOf(principal, caller), key))
    throw new HubError(
      'SCOPE_DENIED',
      'This key may not read the usage of a key that may do more than itself.',
    );
}
