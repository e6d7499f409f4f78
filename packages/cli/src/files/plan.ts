/** Compares the files with the hub: what an apply would change, in the order in which it would. */

import { ProblemError, type Routes } from '@datahub/client';
import type { Environment } from '../access.ts';
import { CommandError } from '../failure.ts';
import type { Hub } from '../hub.ts';
import { type BoardStep, compareBoards, readBoards } from './boards.ts';
import { changedMembers, isOfSignature, withoutDefaults } from './compare.ts';
import { type Directory, FaultsError } from './directory.ts';
import type { Fault } from './fault.ts';
import { hubFileName, isObject, maskedPaths, memberOf } from './hub-file.ts';
import { compareKeys, type KeyStep, type RemoteKeys, readKeys } from './keys.ts';
import { folderKey, type SourceModel } from './model.ts';
import { inParallel } from './parallel.ts';
import type { QueryFile } from './query-file.ts';
import { toFaults } from './rejection.ts';
import { type RemoteHub, type RemoteQuery, readClassifiers } from './remote.ts';
import { type SettingChange, settingChanges } from './setting-changes.ts';
import { compareWatches, type RemoteWatches, readWatches, type WatchStep } from './watches.ts';
import { envName } from './yaml.ts';

export type ContractChange = NonNullable<Routes['POST /v1/queries/check']['answer']['changes']>[number];

export type Step =
  | { kind: 'hub'; action: 'create'; name: string }
  /** `from` is its path until now, if that changes. */
  | { kind: 'hub'; action: 'update'; name: string; from?: string | undefined }
  | { kind: 'classifier'; action: 'create'; name: string }
  | { kind: 'classifier'; action: 'rename'; name: string; from: string; classifierId: string }
  | { kind: 'folder'; action: 'create'; name: string; labels: string[] }
  | { kind: 'folder'; action: 'delete'; name: string; nodeId: string }
  | { kind: 'source'; action: 'create'; name: string; source: SourceModel; at: number }
  | {
      kind: 'source';
      action: 'update';
      name: string;
      source: SourceModel;
      before: SourceModel;
      sourceId: string;
      members: string[];
      settings: SettingChange[];
    }
  | { kind: 'query'; action: 'create'; name: string; file: QueryFile }
  | QueryUpdate
  | { kind: 'query'; action: 'delete'; name: string; remote: RemoteQuery; callers?: Callers }
  | WatchStep
  | BoardStep
  | KeyStep;

export interface QueryUpdate {
  kind: 'query';
  action: 'update';
  name: string;
  file: QueryFile;
  remote: RemoteQuery;
  members: string[];
  /** Undefined if the key may not check queries, or if the source did not answer. */
  contract?: ContractChange[];
  /** Undefined if the hub could not read its audit log. */
  callers?: Callers;
}

/** Of the last 30 days. */
export interface Callers {
  calls: number;
  keys: number;
  /** The keys with the most calls, or none if the key may not see the names. */
  names: { name: string; calls: number }[];
}

export interface Plan {
  directory: Directory;
  remote: RemoteHub | undefined;
  steps: Step[];
  /** Queries of the hub that the files do not have. */
  unmanaged: string[];
  /** The same of watches and boards, if the files have any. */
  unmanagedWatches: string[];
  unmanagedBoards: string[];
  unmanagedKeys: string[];
  /** Undefined if the plan has nothing to do with watches. */
  watches: RemoteWatches | undefined;
  /** The same of keys. */
  keys: RemoteKeys | undefined;
}

export interface PlanOptions {
  directory: Directory;
  remote: RemoteHub | undefined;
  env: Environment;
  prune: boolean;
  adopt: boolean;
  /** Send the credentials of all sources again, and the pinned values that keys have from the environment. */
  credentials: boolean;
  /** Only the query with this path, or those in this folder of files, and what they need. */
  only: string | undefined;
}

export async function makePlan(hub: Hub, options: PlanOptions): Promise<Plan> {
  const { directory, remote, prune, adopt, only } = options;
  const { model } = directory.hub;
  const steps: Step[] = [];
  const faults: Fault[] = [];
  if (remote === undefined) steps.push({ kind: 'hub', action: 'create', name: model.path });
  else if (remote.label !== model.label || remote.path !== model.path)
    steps.push({
      ...{ kind: 'hub', action: 'update', name: model.path },
      from: remote.path === model.path ? undefined : remote.path,
    });
  steps.push(...(await classifierSteps(hub, directory, faults)));
  const present = new Set(remote?.folders.map(({ labels }) => folderKey(labels)));
  const wanted = new Map(model.folders.flatMap(withParents).map((labels) => [folderKey(labels), labels]));
  for (const [key, labels] of wanted)
    if (!present.has(key)) steps.push({ kind: 'folder', action: 'create', name: labels.join('/'), labels });
  steps.push(...sourceSteps(options, faults));
  if (faults.length > 0) throw new FaultsError(faults);
  const { changes, left } = querySteps(directory, { remote, adopt });
  steps.push(...changes);
  const watches =
    directory.watches === undefined || only !== undefined ? undefined : await readWatches(hub, remote);
  const ofWatches = compareWatches(directory.watches ?? [], watches);
  if (ofWatches.faults.length > 0) throw new FaultsError(ofWatches.faults);
  steps.push(...ofWatches.changes, ...(prune ? ofWatches.deletions : []));
  const ofBoards = await compareWithBoards(hub, options);
  steps.push(...ofBoards.changes, ...(prune ? ofBoards.deletions : []));
  const keys = await readKeysOf(hub, options);
  const ofKeys = compareKeys(directory.keys ?? [], keys, options);
  if (ofKeys.faults.length > 0) throw new FaultsError(ofKeys.faults);
  steps.push(...ofKeys.changes, ...(prune ? ofKeys.deletions : []));
  if (prune && remote !== undefined) {
    for (const query of left)
      steps.push({ kind: 'query', action: 'delete', name: query.model.path, remote: query });
    // Children before parents.
    for (const { nodeId, labels } of remote.folders.toReversed())
      if (!wanted.has(folderKey(labels)))
        steps.push({ kind: 'folder', action: 'delete', name: labels.join('/'), nodeId });
  }
  return {
    directory,
    remote,
    steps: only === undefined ? steps : stepsOf(only, { steps, directory, remote }),
    unmanaged: prune || only !== undefined ? [] : left.map((query) => query.path ?? query.model.label),
    unmanagedWatches: prune ? [] : ofWatches.deletions.map(({ name }) => name),
    unmanagedBoards: prune ? [] : ofBoards.deletions.map(({ name }) => name),
    unmanagedKeys: prune ? [] : ofKeys.deletions.map(({ name }) => name),
    keys,
    watches,
  };
}

async function readKeysOf(hub: Hub, { directory: { keys, hub: of }, remote, only }: PlanOptions) {
  return keys === undefined || only !== undefined ? undefined : readKeys(hub, remote, of.model.path);
}

async function compareWithBoards(hub: Hub, { directory: { boards }, remote, only }: PlanOptions) {
  const isLeft = boards === undefined || only !== undefined;
  return compareBoards(boards ?? [], isLeft ? undefined : await readBoards(hub, remote));
}

/** Of the other steps, those without which the queries cannot be stored. */
function stepsOf(
  only: string,
  { steps, directory, remote }: Pick<Plan, 'steps' | 'directory' | 'remote'>,
): Step[] {
  const isWanted = ({ path }: { path: string }) => path === only || path.startsWith(`${only}/`);
  const queries = directory.queries.map(({ model }) => model).filter(isWanted);
  if (queries.length === 0 && !(remote?.queries ?? []).some(({ model }) => isWanted(model)))
    throw new CommandError(
      `Neither the files nor the hub have a query ${only}. The path of queries/a/b.sql is a/b.`,
    );
  const sources = new Set(queries.map(({ source }) => source));
  const folders = new Set(queries.flatMap(({ folder }) => withParents(folder).map(folderKey)));
  return steps.filter((step) => {
    if (step.kind === 'query') return isWanted({ path: step.name });
    if (step.action !== 'create') return false;
    if (step.kind === 'source') return sources.has(step.name);
    return step.kind === 'folder' ? folders.has(folderKey(step.labels)) : step.kind === 'hub';
  });
}

const withParents = (labels: string[]): string[][] => labels.map((_, i) => labels.slice(0, i + 1));

async function classifierSteps(
  hub: Hub,
  { hub: { model, place } }: Directory,
  faults: Fault[],
): Promise<Step[]> {
  if (model.classifiers.length === 0) return [];
  const present = await readClassifiers(hub);
  return model.classifiers.flatMap(({ name, formerly }, i): Step[] => {
    if (present.some((one) => one.name === name)) return [];
    const old = present.filter((one) => one.name === formerly);
    const [first] = old;
    if (first === undefined) return [{ kind: 'classifier', action: 'create', name }];
    if (old.length > 1)
      faults.push({
        file: hubFileName,
        ...place(['classifiers', i, 'formerly']),
        detail: `Several classifiers have the name ${formerly}`,
      });
    return [
      { kind: 'classifier', action: 'rename', name, from: first.name, classifierId: first.classifierId },
    ];
  });
}

function sourceSteps({ directory: { hub }, remote, env, credentials }: PlanOptions, all: Fault[]): Step[] {
  const faults: Fault[] = [];
  const steps = hub.model.sources.flatMap((source, at): Step[] => {
    const { label: name } = source;
    const known = remote?.sources.find(({ label }) => label === name);
    const resolve = (isSecretNeeded: boolean) =>
      resolveSettings(source, {
        env,
        isSecretNeeded,
        report: (path, detail) =>
          faults.push({
            file: hubFileName,
            ...hub.place(['sources', at, 'connectionSettings', ...path]),
            detail,
          }),
      });
    if (known === undefined) return [{ kind: 'source', action: 'create', name, source: resolve(true), at }];
    const settings = changedSettings(source, resolve(false), known);
    if (settings.length === 0 && !credentials) return [];
    const changed = settings.length === 0 ? [{ name: 'credentials' }] : settings;
    const members = [...new Set(changed.map((one) => one.name.split('.')[0] ?? ''))];
    const { sourceId } = known;
    const step = { name, source: resolve(true), before: known, sourceId, members, settings: changed };
    return [{ kind: 'source', action: 'update', ...step }];
  });
  // A setting that is missing is reported once, although it is looked up twice.
  all.push(...new Map(faults.map((fault) => [JSON.stringify(fault), fault])).values());
  return steps;
}

/** Replaces the expressions of a source; without `isSecretNeeded`, only those that can be compared. */
function resolveSettings(
  source: SourceModel,
  {
    env,
    isSecretNeeded,
    report,
  }: { env: Environment; isSecretNeeded: boolean; report(path: string[], detail: string): void },
): SourceModel {
  const masked = new Set(maskedPaths.map((path) => path.join('.')));
  const resolve = (value: unknown, path: string[]): unknown => {
    if (isObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, resolve(member, [...path, name])]),
      );
    const name = envName(value);
    if (name === undefined) return value;
    if (!isSecretNeeded && masked.has(path.join('.'))) return value;
    const text = env[name];
    if (text === undefined) report(path, `The environment has no ${name}`);
    return path.at(-1) === 'port' && /^\d+$/.test(text ?? '') ? Number(text) : (text ?? '');
  };
  return { ...source, connectionSettings: resolve(source.connectionSettings, []) as Record<string, unknown> };
}

/**
 * The settings that differ, apart from those that the hub masks. What the file keeps in the environment is without its
 * values, because a report can be a comment that others read.
 */
function changedSettings(file: SourceModel, source: SourceModel, known: SourceModel): SettingChange[] {
  const [mine = {}, theirs = {}] = [source, known].map((one) => comparable(one.connectionSettings));
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
  const changed = names.flatMap((name) => settingChanges(theirs[name], mine[name], name));
  return [...settingChanges(known.engine, source.engine, 'engine'), ...changed].map((one) => {
    const { session } = file.connectionSettings;
    // Names of settings have dots themselves.
    const isOfSession = one.name.startsWith('session.');
    const written = isOfSession ? undefined : memberOf(file.connectionSettings, one.name.split('.'));
    const isHidden = isOfSession
      ? JSON.stringify(session ?? null).includes('${env:')
      : envName(written) !== undefined;
    return isHidden ? { name: one.name } : one;
  });
}

function comparable(settings: Record<string, unknown>): Record<string, unknown> {
  const copy = structuredClone(settings);
  for (const path of maskedPaths) {
    const parent = path.length === 1 ? copy : memberOf(copy, path.slice(0, -1));
    if (isObject(parent)) delete parent[path.at(-1) ?? ''];
  }
  return withoutDefaults(copy);
}

function querySteps(
  { queries }: Directory,
  { remote, adopt }: { remote: RemoteHub | undefined; adopt: boolean },
): { changes: Step[]; left: RemoteQuery[] } {
  const known = new Map(
    (remote?.queries ?? [])
      .filter(({ path }) => path !== undefined || adopt)
      .map((query) => [query.model.path, query]),
  );
  const changes = queries.flatMap((file): Step[] => {
    const name = file.model.path;
    const stored = known.get(name);
    if (stored === undefined) return [{ kind: 'query', action: 'create', name, file }];
    const members = changedMembers(file.model, stored.model);
    if (stored.path === undefined) members.push('path');
    return members.length === 0
      ? []
      : [{ kind: 'query', action: 'update', name, file, remote: stored, members }];
  });
  const paths = new Set(queries.map(({ model }) => model.path));
  const left = (remote?.queries ?? []).filter(
    (query) => known.get(query.model.path) !== query || !paths.has(query.model.path),
  );
  return { changes, left };
}

/** Adds what callers notice of each change: the contract, and who called the query. */
export async function addEffects(hub: Hub, { steps, remote }: Plan): Promise<void> {
  const sourceIds = new Map(remote?.sources.map(({ label, sourceId }) => [label, sourceId]));
  const faults: Fault[][] = [];
  await inParallel(steps, async (step, i) => {
    if (step.kind !== 'query' || step.action === 'create') return;
    const { queryId } = step.remote;
    const path = { queryId };
    const usage = await hub.call('GET /v1/queries/{queryId}/usage', { path }).catch(unlessUnknown);
    if (usage !== undefined)
      step.callers = {
        calls: usage.count,
        keys: usage.totalKeys,
        names: usage.keys.flatMap(({ keyId, name, count: calls }) =>
          name === undefined ? [] : [{ name: name ?? keyId, calls }],
        ),
      };
    if (step.action !== 'update' || !step.members.some(isOfSignature)) return;
    const { text: query, command, context, notNull, session, steps: ofQuery, source } = step.file.model;
    const sourceId = sourceIds.get(source);
    if (sourceId === undefined) return;
    const asked = { sourceId, query, command, context, notNull, session, steps: ofQuery };
    const body = { ...asked, compareTo: queryId };
    const checked = await hub.call('POST /v1/queries/check', { body }).catch((err) => {
      faults[i] = toFaults(err, step.file);
      return faults[i].length > 0 ? undefined : unlessUnknown(err);
    });
    if (checked?.changes !== undefined) step.contract = checked.changes;
  });
  const all = faults.flat();
  if (all.length > 0) throw new FaultsError(all);
}

/** A plan needs no right to check queries, and neither their source nor the audit log. */
function unlessUnknown(err: unknown): undefined {
  if (err instanceof ProblemError && (err.status === 403 || err.status === 503)) return undefined;
  throw err;
}
