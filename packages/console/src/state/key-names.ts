/** The names of keys, for lists of what keys did. */

import { callList } from '../api/client.ts';
import type { ListedKey } from '../api/types.ts';
import { may } from './permissions.ts';

/** Keys that were revoked have no name any more. */
export async function keyNames(signal: AbortSignal): Promise<Map<string, string>> {
  const keys = may('keys:read') ? await callList<ListedKey>('v1/keys', { signal }).catch(() => []) : [];
  return new Map(keys.map(({ keyId, name }) => [keyId, name]));
}
