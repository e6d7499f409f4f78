/**
 * The permissions of the key of this tab, or of the person in the hub that is shown. The console does not offer actions
 * that the hub would refuse. Until the hub has answered, it offers all.
 */

import { scopesOfRole } from '@datahub/contract/roles';
import { isGranted, type Scope } from '@datahub/contract/scopes';
import { batch, computed, signal } from '@preact/signals';
import { callJson } from '../api/client.ts';
import { bySession, key } from '../api/session.ts';
import type { Answer } from '../api/types.ts';
import { hubId } from './workspace.ts';

type CurrentKey = Answer<'GET /v1/keys/current'>;

/** The key of this tab. */
export const currentKey = signal<CurrentKey | undefined>(undefined);

/** Of the person who is signed in. */
const roles = signal<Answer<'GET /v1/people/current'>['roles'] | undefined>(undefined);

export async function loadPermissions(): Promise<void> {
  const read = <T>(path: string) => callJson<T>(path).catch(() => undefined);
  const [ofKey, person] = await Promise.all([
    read<CurrentKey>('v1/keys/current'),
    key.value === bySession ? read<Answer<'GET /v1/people/current'>>('v1/people/current') : undefined,
  ]);
  batch(() => {
    currentKey.value = ofKey;
    roles.value = person?.roles;
  });
}

/** Outside of a hub those of the highest role, in whichever hubs. */
const scopesHere = computed(() => {
  const here = hubId.value;
  if (roles.value === undefined || here === undefined) return currentKey.value?.scopes;
  const held = roles.value.filter(({ hubIds }) => hubIds === null || hubIds.includes(here));
  return held.flatMap(({ role }) => scopesOfRole[role]);
});

export function may(scope: Scope): boolean {
  const scopes = scopesHere.value;
  if (scopes === undefined || isGranted(scopes, scope)) return true;
  // The hub also accepts a key that may execute writes for queries that read.
  return scope === 'queries:execute' && isGranted(scopes, 'queries:execute:write');
}

/** Returns the properties of a button whose action needs `scope`. */
export const needs = (scope: Scope, disabled = false) =>
  may(scope)
    ? { disabled }
    : {
        disabled: true,
        title: `${roles.value ? 'Your role in this hub' : 'This key'} lacks the scope ${scope}.`,
      };
