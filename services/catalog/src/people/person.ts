/** People as documents: pure rules. */

import { createHash } from 'node:crypto';
import { type HeldRole, mergeRoles } from '@datahub/contract/roles';
import { HubError } from '@datahub/service-kit/call/error';
import type { GrantDoc, PersonDoc } from './documents.ts';

export const identityOf = (issuer: string, subject: string): string =>
  createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex');

/** What the grants of the account give the person, merged. Groups count only while the provider's word holds. */
export function rolesOf(person: PersonDoc, grants: readonly GrantDoc[], nowMs: number): HeldRole[] {
  const groups = new Set(person.confirmedUntil > nowMs ? person.groups : []);
  const own = grants.filter(({ who: { kind, value } }) => {
    if (kind === 'group') return groups.has(value);
    return kind === 'email' ? person.email === value : person.subject === value;
  });
  return mergeRoles(own);
}

export type PersonState = 'active' | 'paused' | 'disabled';

export function stateOf({ disabled, ended }: PersonDoc): PersonState {
  if (disabled) return 'disabled';
  return ended ? 'paused' : 'active';
}

/** Throws KEY_INVALID if nothing that ends with the person works now. */
export function requireActive(person: PersonDoc | null): asserts person is PersonDoc {
  if (person === null)
    throw new HubError('KEY_INVALID', 'The person to whom this key belongs was removed from the hub.');
  const state = stateOf(person);
  if (state === 'disabled')
    throw new HubError('KEY_INVALID', 'The person to whom this key belongs was disabled by an admin.');
  if (state === 'paused')
    throw new HubError('KEY_INVALID', 'The person to whom this key belongs has to sign in again.');
}
