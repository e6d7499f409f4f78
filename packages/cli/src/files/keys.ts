/**
 * Keys of the files and of the hub. The key of `keys/page.yaml` has the name `HUB/page` and holds for this hub only. Its
 * text is shown when it is created, and never again.
 */

import { ProblemError, type Routes } from '@datahub/client';
import { keyLimitNames } from '@datahub/contract/key-limits';
import { CommandError } from '../failure.ts';
import { type Hub, listAll } from '../hub.ts';
import { hubChanged } from './conflicts.ts';
import type { Fault } from './fault.ts';
import { changedKeyMembers, type KeyFile } from './key-file.ts';
import { isPath, type KeyModel } from './model.ts';
import { type RemoteHub, readClassifiers } from './remote.ts';

export interface RemoteKey {
  keyId: string;
  model: KeyModel;
  /** True if its limits name what files of this hub cannot name, or if it holds for more than the hub. */
  isForeign: boolean;
}

export type KeyStep =
  | { kind: 'key'; action: 'create'; name: string; file: KeyFile }
  | { kind: 'key'; action: 'update'; name: string; file: KeyFile; remote: RemoteKey; members: string[] }
  | { kind: 'key'; action: 'delete'; name: string; remote: RemoteKey };

export interface RemoteKeys {
  keys: RemoteKey[];
  /** The number of keys whose names begin with the path of the hub and are no paths. */
  nameless: number;
  classifierIds: Map<string, string>;
}

type Listed = Routes['GET /v1/keys']['answer'][number];
type Whole = Required<Pick<Listed, 'scopes' | 'limits'>> & Listed;

/** The keys whose names are paths in this hub. Of several with one name, after a rotation, the newest counts. */
export async function readKeys(hub: Hub, remote: RemoteHub | undefined, path: string): Promise<RemoteKeys> {
  const [found, classifiers] = await Promise.all([
    listAll(hub, 'GET /v1/keys', {}),
    // Only limits name classifiers, and few keys have such a limit.
    readClassifiers(hub).catch((err) => {
      if (err instanceof ProblemError && err.status === 403) return [];
      throw err;
    }),
  ]);
  const names = new Map(classifiers.map(({ classifierId, name }) => [classifierId, name]));
  const ofHub = found.filter(({ name, state }) => name.startsWith(`${path}/`) && state === 'active');
  const own = ofHub.filter(({ name }) => isPath(name.slice(path.length + 1)));
  const hidden = own.find(({ scopes }) => scopes === undefined);
  if (hidden !== undefined)
    throw new CommandError(`The key ${hidden.name} may do more than yours, so it cannot be compared.`);
  const newest = new Map<string, Whole>();
  for (const key of own as Whole[]) {
    const other = newest.get(key.name);
    if (other === undefined || (other.createdAt ?? '') < (key.createdAt ?? '')) newest.set(key.name, key);
  }
  const paths = new Set(remote?.queries.map(({ model }) => model.path));
  const classifierIds = new Map(classifiers.map(({ classifierId, name }) => [name, classifierId]));
  return {
    keys: [...newest.values()].map((key) => {
      const model = toModel(key, { path: key.name.slice(path.length + 1), remote, names });
      const { queries, classifiers: trained = [], user } = model.limits;
      const isForeign =
        queries?.length === 0 ||
        [...(queries ?? []), ...(user?.public ?? [])].some((one) => !paths.has(one)) ||
        trained.some((one) => !classifierIds.has(one));
      return { keyId: key.keyId, model, isForeign };
    }),
    classifierIds,
    nameless: ofHub.length - own.length,
  };
}

function toModel(
  { scopes, limits, expiresAt }: Whole,
  { path, remote, names }: { path: string; remote: RemoteHub | undefined; names: Map<string, string> },
): KeyModel {
  const { hubIds, queryIds, queries, classifierIds, user, ...rest } = limits;
  const prefix = remote?.path === undefined ? undefined : `${remote.path}/`;
  const pathOf = (name: string) =>
    prefix !== undefined && name.startsWith(prefix)
      ? name.slice(prefix.length)
      : (remote?.queries.find(({ queryId }) => queryId === name)?.model.path ?? name);
  const named = queries ?? queryIds;
  const strange = (hubIds ?? []).filter((id) => id !== remote?.hubId);
  return {
    path,
    scopes,
    limits: {
      ...(named === undefined ? {} : { queries: named.map(pathOf) }),
      ...(classifierIds === undefined ? {} : { classifiers: classifierIds.map((id) => names.get(id) ?? id) }),
      ...rest,
      ...(user === undefined ? {} : { user: { ...user, public: user.public?.map(pathOf) } }),
      // A key that somebody widened or moved is brought back.
      ...(named === undefined && (hubIds === undefined || strange.length > 0) ? { queries: strange } : {}),
    } as KeyModel['limits'],
    ...(expiresAt === undefined || expiresAt === null ? {} : { expiresAt }),
  };
}

interface Compared {
  changes: KeyStep[];
  /** Of keys that the files do not have. */
  deletions: KeyStep[];
  faults: Fault[];
}

export function compareKeys(files: readonly KeyFile[], present: RemoteKeys | undefined): Compared {
  if (present === undefined) return { changes: [], deletions: [], faults: [] };
  const known = new Map(present.keys.map((key) => [key.model.path, key]));
  const faults: Fault[] = [];
  const changes = files.flatMap((file): KeyStep[] => {
    const name = file.model.path;
    const remote = known.get(name);
    if (remote === undefined) return [{ kind: 'key', action: 'create', name, file }];
    const members = changedKeyMembers(file.model, remote.model);
    if (members.includes('scopes'))
      faults.push({
        file: file.file,
        ...file.place(['scopes']),
        detail:
          'The scopes of a key cannot be changed. Rename the file: apply creates another key, and --prune revokes this one',
      });
    return members.length === 0 ? [] : [{ kind: 'key', action: 'update', name, file, remote, members }];
  });
  for (const { file, model, place } of files)
    for (const [i, name] of (model.limits.classifiers ?? []).entries())
      if (!present.classifierIds.has(name))
        faults.push({
          file,
          ...place(['limits', 'classifiers', i]),
          detail: `There is no classifier ${name}. Classifiers that hub.yaml lists are created by an apply without this limit`,
        });
  for (const { model } of files) known.delete(model.path);
  const deletions = [...known].map(
    ([name, remote]): KeyStep => ({ kind: 'key', action: 'delete', name, remote }),
  );
  return { changes, deletions, faults };
}

/** A new key, whose text is shown only once. */
export interface NewKey {
  name: string;
  key: string;
}

export async function applyKey(
  hub: Hub,
  step: KeyStep,
  { remote, keys }: { remote: RemoteHub | undefined; keys: RemoteKeys | undefined },
): Promise<NewKey | undefined> {
  if (remote === undefined || keys === undefined) throw hubChanged();
  if (step.action === 'delete') {
    await hub.call('DELETE /v1/keys/{keyId}', { path: { keyId: step.remote.keyId } });
    return undefined;
  }
  const { scopes, expiresAt, limits } = step.file.model;
  const wanted = toLimits(limits, { remote, keys });
  if (step.action === 'create') {
    const name = `${remote.path}/${step.name}`;
    const ends = expiresAt === undefined ? {} : { expiresAt };
    const body = { name, scopes: [...scopes], limits: wanted, ...ends };
    const { key } = await hub.call('POST /v1/keys', { body });
    return { name, key };
  }
  const removed = Object.fromEntries(keyLimitNames.map((name) => [name, null]));
  await hub.call('PUT /v1/keys/{keyId}', {
    path: { keyId: step.remote.keyId },
    body: { limits: { ...removed, ...wanted }, expiresAt: expiresAt ?? null },
  });
  return undefined;
}

type Limits = NonNullable<Routes['POST /v1/keys']['body']['limits']>;

/** Without queries of its own, the key may use all of its hub. */
function toLimits(
  { queries, classifiers, user, ...rest }: KeyModel['limits'],
  { remote, keys }: { remote: RemoteHub; keys: RemoteKeys },
): Limits {
  const nameOf = (path: string): string => `${remote.path}/${path}`;
  return {
    ...rest,
    ...(queries === undefined ? { hubIds: [remote.hubId] } : { queries: queries.map(nameOf) }),
    ...(classifiers === undefined
      ? {}
      : { classifierIds: classifiers.map((name) => keys.classifierIds.get(name) ?? '') }),
    ...(user === undefined
      ? {}
      : { user: { ...user, ...(user.public === undefined ? {} : { public: user.public.map(nameOf) }) } }),
  } as Limits;
}
