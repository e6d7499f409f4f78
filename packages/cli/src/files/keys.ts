/**
 * Keys of the files and of the hub. The key of `keys/page.yaml` has the name `HUB/page` and holds for this hub only. Its
 * text is shown when it is created, and never again.
 */

import { ProblemError, type Routes } from '@datahub/client';
import { keyLimitNames, withheldValue } from '@datahub/contract/key-limits';
import { CommandError } from '../failure.ts';
import { type Hub, listAll } from '../hub.ts';
import { writeCanonical } from './compare.ts';
import { hubChanged } from './conflicts.ts';
import type { Fault } from './fault.ts';
import { envNameOf } from './hub-file.ts';
import { changedKeyMembers, type KeyFile } from './key-file.ts';
import { isPath, type KeyModel } from './model.ts';
import { type RemoteHub, readClassifiers } from './remote.ts';
import { envName } from './yaml.ts';

export interface RemoteKey {
  keyId: string;
  model: KeyModel;
  /** True if its limits name what files of this hub cannot name, or if it holds for more than the hub. */
  isForeign: boolean;
}

type Pins = NonNullable<KeyModel['limits']['context']>;

/** `pins` are sent: values of the environment in the place of its names. */
export type KeyStep =
  | { kind: 'key'; action: 'create'; name: string; file: KeyFile; pins: Pins }
  | {
      kind: 'key';
      action: 'update';
      name: string;
      file: KeyFile;
      pins: Pins;
      remote: RemoteKey;
      members: string[];
    }
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
  const variables = new Set<string>();
  return {
    keys: [...newest.values()].map((key) => {
      const model = toModel(key, { path: key.name.slice(path.length + 1), remote, names });
      withholdPins(model, { hub: path, variables });
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

/** What the hub does not show is in the environment. No key gets a variable of another one. */
function withholdPins({ path, limits }: KeyModel, of: { hub: string; variables: Set<string> }): void {
  const pins = (limits.context ?? {}) as Pins;
  for (const [name, value] of Object.entries(pins)) {
    if (value !== withheldValue) continue;
    const wanted = envNameOf({ hub: of.hub, label: `key ${path}` }, [name]);
    let variable = wanted;
    for (let count = 2; of.variables.has(variable); count++) variable = `${wanted}_${count}`;
    of.variables.add(variable);
    pins[name] = `\${env:${variable}}`;
  }
}

interface Compared {
  changes: KeyStep[];
  /** Of keys that the files do not have. */
  deletions: KeyStep[];
  faults: Fault[];
}

interface CompareOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Send what is in the environment again. */
  credentials: boolean;
}

export function compareKeys(
  files: readonly KeyFile[],
  present: RemoteKeys | undefined,
  options: CompareOptions,
): Compared {
  if (present === undefined) return { changes: [], deletions: [], faults: [] };
  const known = new Map(present.keys.map((key) => [key.model.path, key]));
  const faults: Fault[] = [];
  const changes = files.flatMap((file): KeyStep[] => {
    const name = file.model.path;
    const remote = known.get(name);
    const { pins, isChanged } = readPins(file, remote, { ...options, faults });
    if (remote === undefined) return [{ kind: 'key', action: 'create', name, file, pins }];
    const members = changedKeyMembers(file.model, remote.model);
    if (isChanged && !members.includes('limits')) members.push('limits');
    if (members.includes('scopes'))
      faults.push({
        file: file.file,
        ...file.place(['scopes']),
        detail:
          'The scopes of a key cannot be changed. Rename the file: apply creates another key, and --prune revokes this one',
      });
    const step = { name, file, pins, remote, members };
    return members.length === 0 ? [] : [{ kind: 'key', action: 'update', ...step }];
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

/** Reads the pinned values that are in the environment. `isChanged`: they are to be sent. */
function readPins(
  { file, model, place }: KeyFile,
  remote: RemoteKey | undefined,
  { env, credentials, faults }: CompareOptions & { faults: Fault[] },
): { pins: Pins; isChanged: boolean } {
  const present = (remote?.model.limits.context ?? {}) as Pins;
  let isChanged = false;
  const pins = Object.entries((model.limits.context ?? {}) as Pins).map(([name, value]) => {
    const variable = envName(value);
    const isWithheld = envName(present[name]) !== undefined;
    const report = (detail: string) => faults.push({ file, ...place(['limits', 'context', name]), detail });
    if (variable === undefined && isWithheld)
      report(
        `The hub does not show ${name}, because its variable is or was secret. Write \${env:NAME} in its place`,
      );
    if (variable === undefined) return [name, value];
    if (isWithheld && !credentials) return [name, withheldValue];
    const text = env[variable];
    if (text === undefined) report(`The environment has no ${variable}`);
    isChanged ||= isWithheld || (name in present && writeCanonical(present[name]) !== writeCanonical(text));
    return [name, text];
  });
  return { pins: Object.fromEntries(pins), isChanged };
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
  const pinned = limits.context === undefined ? {} : { context: step.pins };
  const wanted = toLimits({ ...limits, ...pinned }, { remote, keys });
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
