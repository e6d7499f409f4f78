/**
 * What the key of this tab may do, so that the console does not offer what the hub would reject. Until the hub has
 * answered, everything is offered.
 */

import { isGranted, type Scope } from '@datahub/contract/scopes';
import { signal } from '@preact/signals';
import { callJson } from './client.ts';

interface CurrentKey {
  keyId: string;
  scopes: string[];
}

/** The key of this tab. */
export const currentKey = signal<CurrentKey | undefined>(undefined);

export async function loadPermissions(): Promise<void> {
  currentKey.value = await callJson<CurrentKey>('v1/keys/current').catch(() => undefined);
}

export function may(scope: Scope): boolean {
  const scopes = currentKey.value?.scopes;
  if (scopes === undefined || isGranted(scopes, scope)) return true;
  // The hub reads with a key that may write.
  return scope === 'queries:execute' && isGranted(scopes, 'queries:execute:write');
}

/** The properties of a button that does something for which the key needs `scope`. */
export const needs = (scope: Scope, disabled = false) =>
  may(scope) ? { disabled } : { disabled: true, title: `This key lacks the scope ${scope}.` };
