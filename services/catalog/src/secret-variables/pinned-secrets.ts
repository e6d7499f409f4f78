/**
 * The pinned values of keys that no answer has: those of variables that a query declares as secret. A key says which ones
 * these are, so that a value that was once hidden stays hidden, whatever becomes of the query.
 */

import { membersOf, objectOf } from '@datahub/contract/json-text';
import { type KeyLimitValues, withheldValue } from '@datahub/contract/key-limits';
import { fieldError } from '@datahub/service-kit/call/error';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, findHubId, overtaken, untilWritten } from '../catalog.ts';
import type { HubDoc, KeyDoc, QueryDoc } from '../documents.ts';
import { findBatches } from '../pagination.ts';
import { readName } from '../rpc/query-names/granted-name.ts';
import { secretsOf } from './kept-secrets.ts';

type Store = Catalog['store'];

const withheldJson = JSON.stringify(withheldValue);
const isWithheld = (json: string): boolean => json.startsWith('"') && JSON.parse(json) === withheldValue;
const pinsOf = ({ contextJson }: KeyLimitValues): Map<string, string> =>
  contextJson === undefined ? new Map() : membersOf(contextJson);
/** Concurrent writes. The store batches them: a thousand keys can pin one variable. */
const sideBySide = 16;
const all = { offset: 0, limit: Number.POSITIVE_INFINITY };

/** The limits without the values that are hidden. Of a key that does not say which ones are, all are. */
export function shownLimits({ limits, secretPins }: KeyDoc): KeyLimitValues {
  const pins = pinsOf(limits);
  const hidden = [...pins.keys()].filter((name) => secretPins?.includes(name) !== false);
  if (hidden.length === 0) return limits;
  for (const name of hidden) pins.set(name, withheldJson);
  return { ...limits, contextJson: objectOf(pins) };
}

/** The limits with the value of `from` for each that is withheld. Throws VALIDATION if `from` does not pin the variable. */
export function withKnownPins(limits: KeyLimitValues, from: KeyLimitValues | undefined): KeyLimitValues {
  if (!limits.contextJson?.startsWith('{')) return limits;
  const [pins, known] = [pinsOf(limits), pinsOf(from ?? {})];
  const names = [...pins].flatMap(([name, json]) => (isWithheld(json) ? [name] : []));
  if (names.length === 0) return limits;
  const detail = 'stands for a value that is not shown, and there is none. Send the value';
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw fieldError(unknown.map((name) => ({ path: ['limits', 'context', name], detail })));
  for (const name of names) pins.set(name, known.get(name) as string);
  return { ...limits, contextJson: objectOf(pins) };
}

const reachMembers = ['contextJson', 'hubIds', 'queryIds', 'queries'] as const;

/** The key that says which pinned values are hidden. Those that were in `before` stay so until they are replaced. */
export async function withSecretPins({ store }: Catalog, key: KeyDoc, before?: KeyDoc): Promise<KeyDoc> {
  const { secretPins, ...rest } = key;
  if (key.limits.contextJson === undefined) return rest;
  const isSame =
    before?.secretPins !== undefined &&
    reachMembers.every((name) => JSON.stringify(key.limits[name]) === JSON.stringify(before.limits[name]));
  if (isSame) return { ...rest, secretPins: before.secretPins };
  const found = await findSecretPins(store, key);
  const [now, earlier] = [pinsOf(key.limits), pinsOf(before?.limits ?? {})];
  for (const name of before?.secretPins ?? []) if (now.get(name) === earlier.get(name)) found.add(name);
  return { ...rest, secretPins: [...found] };
}

/** The same key, unless an older hub wrote it: that does not say which values are hidden. */
export async function settledPins(catalog: Catalog, key: KeyDoc): Promise<KeyDoc> {
  if (key.limits.contextJson === undefined || key.secretPins !== undefined) return key;
  const settled = { ...(await withSecretPins(catalog, key)), version: key.version + 1 };
  // If another call writes the key meanwhile, the next one settles it.
  await catalog.store.keys.replace(settled).catch(() => {});
  return settled;
}

/** Call before a query is stored: keys that reach it hide the values that they pin of its new secret variables. */
export async function hideFromKeys(
  { store }: Catalog,
  before: QueryDoc | undefined,
  next: QueryDoc,
): Promise<void> {
  const known = before?.path === next.path ? secretsOf(before?.context ?? []) : new Set();
  const names = [...secretsOf(next.context)].filter((name) => !known.has(name));
  if (names.length === 0) return;
  const { accountId, hubId } = next;
  const hub = await store.hubs.get(accountId, hubId);
  for await (const keys of findBatches(store.keys, { accountId }, all)) {
    const reaching = keys.filter(({ limits }) => mayReach(limits, next, hub?.path));
    await inGroups(reaching, sideBySide, (key) => hide(store, key, names));
  }
}

/** Call before a hub gets another path: the same for keys that reach its queries by name then. */
export async function hideFromKeysOfPath({ store }: Catalog, hub: HubDoc): Promise<void> {
  const { accountId, id: hubId, path: hubPath } = hub;
  for await (const keys of findBatches(store.keys, { accountId, where: { namesQueries: 1 } }, all))
    for (const key of keys) {
      if (key.limits.contextJson === undefined) continue;
      for (const name of key.limits.queries ?? []) {
        const parts = readName(name);
        if (parts === undefined || parts.hubPath !== hubPath) continue;
        const { path } = parts;
        const [query] = await store.queries.find({ accountId, where: { path, hubId }, limit: 1 });
        await hide(store, key, [...secretsOf(query?.context ?? [])]);
      }
    }
}

async function hide(store: Store, { accountId, id, ...found }: KeyDoc, names: string[]): Promise<void> {
  if (!hasFresh(found, names)) return;
  await untilWritten(async () => {
    const key = await store.keys.get(accountId, id);
    if (key === null || !hasFresh(key, names)) return;
    const pins = pinsOf(key.limits);
    const hidden = new Set(key.secretPins ?? (await findSecretPins(store, key)));
    for (const name of names) if (pins.has(name)) hidden.add(name);
    const marked = { ...key, secretPins: [...hidden], version: key.version + 1 };
    return (await store.keys.replace(marked)) ? undefined : overtaken;
  });
}

function hasFresh({ limits, secretPins }: Pick<KeyDoc, 'limits' | 'secretPins'>, names: string[]): boolean {
  const pins = pinsOf(limits);
  return names.some((name) => pins.has(name) && !secretPins?.includes(name));
}

function mayReach(
  { hubIds, queryIds, queries }: KeyLimitValues,
  { id, hubId, path }: QueryDoc,
  hubPath: string | undefined,
): boolean {
  if (hubIds?.includes(hubId) === false || queryIds?.includes(id) === false) return false;
  return queries?.some((name) => name === id || name === `${hubPath}/${path}`) !== false;
}

async function findSecretPins(store: Store, key: KeyDoc): Promise<Set<string>> {
  const pins = pinsOf(key.limits);
  const found = new Set<string>();
  for await (const queries of reachedBy(store, key)) {
    for (const { context } of queries)
      for (const name of secretsOf(context)) if (pins.has(name)) found.add(name);
    if (found.size === pins.size) break;
  }
  return found;
}

async function* reachedBy(store: Store, { accountId, limits }: KeyDoc): AsyncGenerator<QueryDoc[]> {
  const { hubIds, queryIds, queries } = limits;
  for (const name of queryIds ?? queries ?? []) {
    const query = await findNamed(store, accountId, name);
    if (query !== undefined) yield [query];
  }
  if (queryIds !== undefined || queries !== undefined) return;
  if (hubIds === undefined) yield* findBatches(store.queries, { accountId }, all);
  for (const hubId of hubIds ?? []) yield* findBatches(store.queries, { accountId, where: { hubId } }, all);
}

/** The query with this id, or with this path in a hub with this path. */
async function findNamed(store: Store, accountId: string, name: string): Promise<QueryDoc | undefined> {
  const parts = readName(name);
  if (parts === undefined) return (await store.queries.get(accountId, name)) ?? undefined;
  const hubId = await findHubId({ store }, accountId, parts.hubPath);
  if (hubId === undefined) return undefined;
  const [query] = await store.queries.find({ accountId, where: { path: parts.path, hubId }, limit: 1 });
  return query;
}
