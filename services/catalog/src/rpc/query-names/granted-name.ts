/**
 * The names that `limits.queries` of keys list. A name stands for the query that has it when the key is used. Otherwise a
 * caller who may write queries, but not create keys, could give its own query the name of another one, or a name that is
 * free again, and so reach callers of keys. So a name counts only if a caller gave it that could create such a key.
 */

import type { HubDoc, QueryDoc } from '../../documents.ts';

type Named = Pick<QueryDoc, 'path' | 'grantsByName'>;

/** Undefined if no key can name the query: it or its hub has no path, or one that does not count. */
export function grantedNameOf(hub: Pick<HubDoc, 'path' | 'grantsByName'>, query: Named): string | undefined {
  const counts = hub.grantsByName === 1 && query.grantsByName === 1;
  return counts && hub.path !== undefined && query.path !== undefined
    ? `${hub.path}/${query.path}`
    : undefined;
}

/** The path of the hub and that of the query. Undefined for an id. */
export function readName(name: string): { hubPath: string; path: string } | undefined {
  const at = name.indexOf('/');
  return at === -1 ? undefined : { hubPath: name.slice(0, at), path: name.slice(at + 1) };
}

/**
 * The document with the mark of its path. `next` has the path that the change asks for; `isGiven` says whether it asks for
 * one at all, which may be the present one.
 */
export function markName<T extends Pick<HubDoc, 'path' | 'grantsByName'>>(
  before: T,
  next: T,
  { isGiven, mayGrant }: { isGiven: boolean; mayGrant: boolean },
): T {
  const isKept = before.path === next.path && (before.grantsByName === 1 || !isGiven);
  const counts = next.path !== undefined && (isKept ? before.grantsByName === 1 : mayGrant);
  if (counts === (next.grantsByName === 1)) return next;
  const { grantsByName: _, ...rest } = next;
  return (counts ? { ...rest, grantsByName: 1 } : rest) as T;
}
