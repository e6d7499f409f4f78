/**
 * The permissions of the key of this tab. The console does not offer actions that the hub would refuse. Until the hub
 * has answered, it offers all.
 */

import { isGranted, type Scope } from '@datahub/contract/scopes';
import { signal } from '@preact/signals';
import { callJson } from '../api/client.ts';
import type { Answer } from '../api/types.ts';

type CurrentKey = Answer<'GET /v1/keys/current'>;

/** The key of this tab. */
export const currentKey = signal<CurrentKey | undefined>(undefined);

export async function loadPermissions(): Promise<void> {
  currentKey.value = await callJson<CurrentKey>('v1/keys/current').catch(() => undefined);
}

export function may(scope: Scope): boolean {
  const scopes = currentKey.value?.scopes;
  if (scopes === undefined || isGranted(scopes, scope)) return true;
  // The hub also accepts a key that may execute writes for queries that read.
  return scope === 'queries:execute' && isGranted(scopes, 'queries:execute:write');
}

/** Returns the properties of a button whose action needs `scope`. */
export const needs = (scope: Scope, disabled = false) =>
  may(scope) ? { disabled } : { disabled: true, title: `This key lacks the scope ${scope}.` };
