/** What people may do: a role in some hubs or in all. */

import type { KeyLimitValues } from './key-limits.ts';
import { isGranted, type Scope } from './scopes.ts';

export const roles = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof roles)[number];

const viewer: readonly Scope[] = [
  'hubs:read',
  'sources:read',
  'queries:read',
  'queries:execute',
  'classifiers:read',
  'classifiers:predict',
  'ai:summarize',
  'watches:read',
];
const editor: readonly Scope[] = [
  ...viewer,
  'hubs:write',
  'queries:check',
  'queries:write',
  'queries:execute:write',
  'classifiers:write',
  'classifiers:train',
  'watches:write',
];

/** Each role has the scopes of those before it. */
export const scopesOfRole: Record<Role, readonly string[]> = { viewer, editor, admin: ['*'] };

/** Scopes with the limits that hold for them. */
export interface Grant {
  scopes: string[];
  limits: KeyLimitValues;
}

export interface HeldRole {
  role: Role;
  /** Absent for all hubs. */
  hubIds?: readonly string[];
  /** How many more hubs are granted than count. Absent for none. */
  hubsLeftOut?: number;
}

/** The most hubs that the roles of one person name. Each call of the person carries them. */
export const hubsOfPersonMax = 200;

/**
 * The roles of a person, each with all hubs where the person has at least this role, the least role first. A role is left
 * out if the next one reaches the same hubs. Beyond the most hubs, those of stronger roles count first.
 */
export function mergeRoles(held: readonly HeldRole[]): HeldRole[] {
  const merged: HeldRole[] = [];
  /** The hubs of this role and of stronger ones. */
  const reached = new Set<string>();
  for (const role of roles.toReversed()) {
    const own = held.filter((one) => one.role === role);
    if (own.some(({ hubIds }) => hubIds === undefined)) return [{ role }, ...merged];
    // Many grants can name the same hubs, so these are sorted once.
    const added = new Set<string>();
    for (const { hubIds = [] } of own) for (const id of hubIds) if (!reached.has(id)) added.add(id);
    for (const id of [...added].sort()) reached.add(id);
    const isFirst = merged.length === 0 && own.length > 0;
    if (isFirst || added.size > 0) merged.unshift(capped({ role, hubIds: [...reached] }));
  }
  return merged;
}

function capped({ role, hubIds }: HeldRole): HeldRole {
  if (hubIds === undefined || hubIds.length <= hubsOfPersonMax)
    return { role, ...(hubIds && { hubIds: hubIds.toSorted() }) };
  const hubsLeftOut = hubIds.length - hubsOfPersonMax;
  return { role, hubIds: hubIds.slice(0, hubsOfPersonMax), hubsLeftOut };
}

/**
 * What a key may do that ends with a person: in each role of the person at most what the key allows itself. The result has
 * the grants with the most hubs first, and each further one has more scopes. Empty if nothing is left.
 */
export function narrowToRoles(own: Grant, held: readonly HeldRole[]): Grant[] {
  const grants: Grant[] = [];
  for (const { role, hubIds } of held) {
    const grant = narrow(own, { scopes: scopesOfRole[role], hubIds });
    if (grant === undefined) continue;
    const { scopes } = grant;
    const isMore = scopes.length > (grants.at(-1)?.scopes.length ?? 0) || scopes.includes('*');
    if (isMore) grants.push(grant);
  }
  return grants;
}

/** What both allow. Undefined if that is no hub at all. */
export function narrow(
  own: Grant,
  { scopes, hubIds }: { scopes: readonly string[]; hubIds?: readonly string[] | undefined },
): Grant | undefined {
  const shared = sharedIds(own.limits.hubIds, hubIds);
  if (shared?.length === 0) return undefined;
  const limits = { ...own.limits, ...(shared === undefined ? {} : { hubIds: shared }) };
  return { scopes: sharedScopes(own.scopes, scopes), limits };
}

function sharedScopes(own: readonly string[], others: readonly string[]): string[] {
  if (own.includes('*')) return [...others];
  if (others.includes('*')) return [...own];
  return own.filter((scope) => isGranted(others, scope as Scope));
}

function sharedIds(
  own: readonly string[] | undefined,
  others: readonly string[] | undefined,
): string[] | undefined {
  if (own === undefined) return others && [...others];
  return others === undefined ? [...own] : own.filter((id) => others.includes(id));
}

/** A principal, as far as it says what a person may do. */
interface Acting<Limits> {
  scopes: string[];
  limits?: Limits | undefined;
  person?: { grants: { scopes: string[]; limits?: Limits | undefined }[] } | undefined;
}

/** The principal with the grant that has the scope. Undefined if there is none; keys have no other than their own. */
export function withScope<P extends Acting<unknown>>(principal: P, scope: Scope): P | undefined {
  if (isGranted(principal.scopes, scope)) return principal;
  const grant = principal.person?.grants.find(({ scopes }) => isGranted(scopes, scope));
  return grant && { ...principal, scopes: grant.scopes, limits: grant.limits };
}
