/** Who acts with a key: the key itself, or its person, who can do no more than the roles of the person allow now. */

import { type HeldRole, narrowToRoles } from '@datahub/contract/roles';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import { isIdOf } from '@datahub/service-kit/id';
import type { Catalog } from '../catalog.ts';
import type { KeyDoc } from '../documents.ts';
import { toLimits, toPrincipal } from '../key.ts';
import { findBatches } from '../pagination.ts';
import type { GrantDoc, PersonDoc } from './documents.ts';
import { requireActive, rolesOf, stateOf } from './person.ts';

/** Of an account. All of them are read to find the roles of a person. */
export const grantsMax = 1_000;
/** What all grants of an account name together. */
export const grantedHubsMax = 20_000;

export async function grantsOf({ store }: Pick<Catalog, 'store'>, accountId: string): Promise<GrantDoc[]> {
  const grants: GrantDoc[] = [];
  for await (const some of findBatches(store.grants, { accountId }, { offset: 0, limit: grantsMax }))
    grants.push(...some);
  return grants;
}

/** The principal of a key. Throws KEY_INVALID if the person of the key is out, or has no role that the key could use. */
export async function principalOf(catalog: Catalog, key: KeyDoc): Promise<Principal> {
  if (key.personId === undefined) return toPrincipal(key);
  const { held } = await loadRoles(catalog, key.accountId, key.personId);
  const grants = narrowToRoles(key, held).map(({ scopes, limits }) => ({ scopes, limits: toLimits(limits) }));
  const [first] = grants;
  if (first === undefined)
    throw new HubError('KEY_INVALID', 'The person to whom this key belongs has no role for it any more.');
  return { ...toPrincipal(key), ...first, person: { id: key.personId, grants } };
}

/** Throws KEY_INVALID for a person who is out. */
export async function loadRoles(
  catalog: Catalog,
  accountId: string,
  personId: string,
): Promise<{ person: PersonDoc; held: HeldRole[] }> {
  const person = await catalog.store.people.get(accountId, personId);
  requireActive(person);
  return { person, held: rolesOf(person, await grantsOf(catalog, accountId), catalog.nowMs()) };
}

export type KeyState = 'active' | 'expired' | 'paused' | 'ended';

/** Whether the key works: one of a person ends when the person is removed, and pauses while the person is out. */
export async function stateOfKey(
  { store, nowMs }: Catalog,
  { accountId, personId, expiresAt }: KeyDoc,
): Promise<KeyState> {
  const person = personId === undefined ? undefined : await store.people.get(accountId, personId);
  if (person === null) return 'ended';
  if (expiresAt !== null && expiresAt <= nowMs()) return 'expired';
  return person === undefined || stateOf(person) === 'active' ? 'active' : 'paused';
}

/** The key with this id. A person's id stands for all that the person may do. */
export async function findKey(
  { store }: Catalog,
  { accountId, keyId }: { accountId: string; keyId: string },
): Promise<KeyDoc | null> {
  if (!isIdOf('prsn', keyId)) return store.keys.get(accountId, keyId);
  const person = await store.people.get(accountId, keyId);
  return person && keyOfPerson(person);
}

/** The key that a person acts with in sessions. Sessions, watches and rates name the person and not the session. */
export function keyOfPerson({ accountId, id, name, version, createdAt }: PersonDoc): KeyDoc {
  const unused = { hash: '', lastCharacters: '', lastUsedAt: null, expiresAt: null };
  return { ...unused, accountId, id, name, version, createdAt, personId: id, scopes: ['*'], limits: {} };
}
