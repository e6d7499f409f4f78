/**
 * Applies a plan, one step after the other. Each step can be repeated, so an interrupted apply is finished by the next
 * one. A query that somebody else changed since the plan is not overwritten.
 */

import { ProblemError, type Routes } from '@datahub/client';
import { CommandError, exitCodes, isUnknown } from '../failure.ts';
import { findHub, type Hub, listAll } from '../hub.ts';
import { applyBoard } from './boards.ts';
import { changedMembers } from './compare.ts';
import { changedSincePlan, hubChanged, readWithETag } from './conflicts.ts';
import { type Fault, toLine } from './fault.ts';
import { hubFileName, isObject } from './hub-file.ts';
import { keepFirst } from './keep-first.ts';
import { applyKey, type NewKey } from './keys.ts';
import { folderKey, type QueryModel, type Settable, settingsOf } from './model.ts';
import type { Plan, QueryUpdate, Step } from './plan.ts';
import type { QueryFile } from './query-file.ts';
import { toFaults } from './rejection.ts';
import { findFolder, type RemoteHub, readClassifiers, readFolders, readRemote, toModel } from './remote.ts';
import { applyWatch } from './watches.ts';

export interface ApplyOptions {
  hub: Hub;
  plan: Plan;
  onStep(step: Step): void;
  /** The text of a key is answered once. */
  onKey(key: NewKey): void;
}

export async function applyPlan({ hub, plan, onStep, onKey }: ApplyOptions): Promise<void> {
  const { model } = plan.directory.hub;
  let { remote } = plan;
  const rejected: string[] = [];
  for (const step of plan.steps) {
    // Queries do not need each other, so one apply names all that the hub rejects.
    const isStored = step.kind === 'query' && step.action !== 'delete';
    if (rejected.length > 0 && !isStored) break;
    try {
      if (step.kind === 'hub') remote = await applyHub(hub, { model, remote });
      else if (step.kind === 'classifier') await applyClassifier(hub, step);
      else if (step.kind === 'watch') await applyWatch(hub, step, { remote, watches: plan.watches });
      else if (step.kind === 'board') await applyBoard(hub, step, { remote });
      else if (step.kind === 'key') {
        const key = await applyKey(hub, step, { remote, keys: plan.keys });
        if (key !== undefined) onKey(key);
      } else if (remote !== undefined) await applyInHub(hub, { step, remote });
    } catch (err) {
      const explained = explain(err, step);
      if (!isStored || !(explained instanceof RejectedError)) throw explained;
      rejected.push(explained.message);
      continue;
    }
    onStep(step);
  }
  if (rejected.length > 0)
    throw new CommandError(
      `${rejected.join('\n')}\nThe other queries are stored. Correct these files and run this again.`,
    );
}

async function applyHub(
  hub: Hub,
  {
    model: { path, label },
    remote,
  }: { model: { path: string; label: string }; remote: RemoteHub | undefined },
): Promise<RemoteHub> {
  if (remote === undefined) {
    await hub.call('POST /v1/hubs', { body: { label, path } });
    return readRemote(hub, await findHub(hub, path));
  }
  const { hubId } = remote;
  const { etag: ifMatch } = await readWithETag((onResponse) =>
    hub.call('GET /v1/hubs/{hubId}', { path: { hubId }, onResponse }),
  );
  await hub.call('PUT /v1/hubs/{hubId}', { path: { hubId }, body: { label, path }, ifMatch });
  return { ...remote, label, path };
}

async function applyClassifier(hub: Hub, step: Extract<Step, { kind: 'classifier' }>): Promise<void> {
  const { name } = step;
  if (step.action === 'rename') {
    const { classifierId } = step;
    await hub.call('PUT /v1/classifiers/{classifierId}', { path: { classifierId }, body: { name } });
    return;
  }
  const { id: classifierId } = await hub.call('POST /v1/classifiers', { body: { name } });
  await keepFirst({
    what: `classifier ${name}`,
    id: classifierId,
    twins: async () => {
      const all = await readClassifiers(hub);
      return all.filter((one) => one.name === name).map((one) => one.classifierId);
    },
    remove: () => hub.call('DELETE /v1/classifiers/{classifierId}', { path: { classifierId } }),
  });
}

async function applyInHub(
  hub: Hub,
  {
    step,
    remote,
  }: { step: Exclude<Step, { kind: 'hub' | 'classifier' | 'watch' | 'board' | 'key' }>; remote: RemoteHub },
): Promise<void> {
  if (step.kind === 'folder') {
    if (step.action === 'create') await createFolder(hub, { labels: step.labels, remote });
    else await hub.call('DELETE /v1/folders/{nodeId}', { path: { nodeId: step.nodeId } });
  } else if (step.kind === 'source') {
    if (step.action === 'create') await createSource(hub, { step, remote });
    else await updateSource(hub, { step, remote });
  } else if (step.action === 'create') await createQuery(hub, { file: step.file, remote });
  else if (step.action === 'update') await updateQuery(hub, { step, remote });
  else await deleteQuery(hub, { step, remote });
}

async function createFolder(
  hub: Hub,
  { labels, remote }: { labels: string[]; remote: RemoteHub },
): Promise<void> {
  const path = { hubId: remote.hubId };
  const parentNodeId = findFolder(remote, labels.slice(0, -1));
  const body = { label: labels.at(-1) ?? '', parentNodeId };
  const { nodeId } = await hub.call('POST /v1/hubs/{hubId}/folders', { path, body });
  const key = folderKey(labels);
  await keepFirst({
    what: `folder ${labels.join('/')}`,
    id: nodeId,
    twins: async () => {
      const tree = await hub.call('GET /v1/hubs/{hubId}/contents', { path });
      const { folders } = readFolders(tree);
      return folders.filter((one) => folderKey(one.labels) === key).map((one) => one.nodeId);
    },
    remove: () => hub.call('DELETE /v1/folders/{nodeId}', { path: { nodeId } }),
  });
  remote.folders.push({ nodeId, labels });
}

type NewSettings = Routes['POST /v1/sources']['body']['connectionSettings'];
type SourceStep<A> = Extract<Step, { kind: 'source'; action: A }>;

async function createSource(
  hub: Hub,
  { step: { source }, remote }: { step: SourceStep<'create'>; remote: RemoteHub },
): Promise<void> {
  const { hubId } = remote;
  const { label, engine } = source;
  const body: Settable<Routes['POST /v1/sources']['body']> = {
    hubId,
    label,
    engine,
    driver: undefined,
    connectionSettings: source.connectionSettings as NewSettings,
    parentNodeId: undefined,
  };
  const { sourceId } = await hub.call('POST /v1/sources', { body });
  await keepFirst({
    what: `source ${source.label}`,
    id: sourceId,
    twins: async () => {
      const sources = await listAll(hub, 'GET /v1/sources', { hubId });
      return sources.filter(({ label }) => label === source.label).map((one) => one.sourceId);
    },
    remove: () => hub.call('DELETE /v1/sources/{sourceId}', { path: { sourceId } }),
  });
  remote.sources.push({ ...source, sourceId });
}

async function updateSource(
  hub: Hub,
  { step: { source, sourceId }, remote }: { step: SourceStep<'update'>; remote: RemoteHub },
): Promise<void> {
  const known = remote.sources.find((one) => one.sourceId === sourceId)?.connectionSettings ?? {};
  // An optional setting that the file does not have is removed.
  const kept = new Set([
    'host',
    'port',
    'database',
    'user',
    'password',
    ...Object.keys(source.connectionSettings),
  ]);
  const removed = Object.keys(known).filter((name) => !kept.has(name));
  const { pool } = source.connectionSettings;
  const connectionSettings = {
    ...source.connectionSettings,
    // The hub takes the members of a pool one by one.
    ...(isObject(pool) ? { pool: { max: null, idleTimeoutMs: null, ...pool } } : {}),
    ...Object.fromEntries(removed.map((name) => [name, null])),
  };
  const { etag: ifMatch } = await readWithETag((onResponse) =>
    hub.call('GET /v1/sources/{sourceId}', { path: { sourceId }, onResponse }),
  );
  // Files name a source by its label, so neither that nor its folder changes.
  const body = { engine: source.engine, connectionSettings };
  await hub.call('PUT /v1/sources/{sourceId}', { path: { sourceId }, body, ifMatch });
}

function toReferences({ model }: QueryFile, remote: RemoteHub): { sourceId: string; parentNodeId: string } {
  const source = remote.sources.find(({ label }) => label === model.source);
  const parentNodeId = findFolder(remote, model.folder);
  if (source === undefined || parentNodeId === undefined) throw hubChanged();
  return { sourceId: source.sourceId, parentNodeId };
}

async function createQuery(
  hub: Hub,
  { file, remote }: { file: QueryFile; remote: RemoteHub },
): Promise<void> {
  const { label, path, text, command, context, notNull } = file.model;
  const body: Settable<Routes['POST /v1/queries']['body']> = {
    hubId: remote.hubId,
    ...toReferences(file, remote),
    ...{ label, path, query: text, command, context, notNull },
    ...settingsOf(file.model),
  };
  const { config } = await hub.call('POST /v1/queries', { body });
  remote.queries.push({ queryId: config.query.queryId, path, model: file.model });
}

type QueryChange = Routes['PUT /v1/queries/{queryId}']['body'];

async function updateQuery(
  hub: Hub,
  { step, remote }: { step: QueryUpdate; remote: RemoteHub },
): Promise<void> {
  const { file } = step;
  const { label, path, text, command, context, notNull } = file.model;
  const { sourceId, parentNodeId } = toReferences(file, remote);
  const ifMatch = await requireUnchanged(hub, { step, remote });
  const meta: Settable<NonNullable<QueryChange['meta']>> = { label, path, parentNodeId, hubId: undefined };
  const config: Settable<NonNullable<QueryChange['config']>> = {
    query: { query: text },
    source: { sourceId },
    ...{ command, context, notNull },
    // A setting that the file does not have is removed.
    ...settingsOf(file.model, null),
  };
  const body = { meta, config };
  const { queryId } = step.remote;
  await hub.call('PUT /v1/queries/{queryId}', { path: { queryId }, body, ifMatch });
}

async function deleteQuery(
  hub: Hub,
  { step, remote }: { step: Extract<Step, { kind: 'query'; action: 'delete' }>; remote: RemoteHub },
): Promise<void> {
  const ifMatch = await requireUnchanged(hub, { step, remote });
  const { queryId } = step.remote;
  await hub.call('DELETE /v1/queries/{queryId}', { path: { queryId }, ifMatch });
}

/** Returns the ETag of a query that is still what the plan compared with. */
async function requireUnchanged(
  hub: Hub,
  {
    step,
    remote,
  }: { step: Extract<Step, { kind: 'query'; action: 'update' | 'delete' }>; remote: RemoteHub },
): Promise<string> {
  const { queryId, model } = step.remote;
  const { now, etag } = await readWithETag<unknown>((onResponse) =>
    hub.call('GET /v1/queries/{queryId}', { path: { queryId }, onResponse }),
  );
  const { meta, config } = now as Parameters<typeof toModel>[0];
  const folder = remote.folders.find(({ nodeId }) => nodeId === meta.parentNodeId)?.labels ?? [];
  const source = remote.sources.find(({ sourceId }) => sourceId === config.source.sourceId)?.label ?? '';
  const present: QueryModel = toModel({ meta, config }, { source, folder, path: model.path });
  if (meta.path === step.remote.path && changedMembers(present, model).length === 0) return etag;
  throw changedSincePlan('query', model.path);
}

/** Points a rejected member to its place in a file. */
function explain(err: unknown, step: Step): unknown {
  if (!(err instanceof ProblemError)) return err;
  const name = `${step.kind} ${step.name}`;
  if (err.status === 412 || err.code === 'PATH_TAKEN' || err.status === 404)
    return new CommandError(
      `Somebody changed the ${name} at the same time: ${err.message} Run this again.`,
      exitCodes.conflict,
    );
  // A step can be repeated. Only the text of a new key is lost.
  if (isUnknown(err.problem) && !(step.kind === 'key' && step.action === 'create'))
    return new CommandError(`The ${name} may be done: ${err.message} Run this again.`, exitCodes.unavailable);
  // Nothing in the files causes these.
  if ([0, 401, 403, 429].includes(err.status) || err.status >= 500) return err;
  if ((step.kind === 'watch' || step.kind === 'board' || step.kind === 'key') && step.action !== 'delete')
    return new CommandError(`${step.file.file}: ${name}: ${err.message} ${pointersOf(err)}`);
  const file = 'file' in step && step.kind === 'query' ? step.file : undefined;
  if (file === undefined)
    return step.kind === 'source' || step.kind === 'hub'
      ? new CommandError(`${hubFileName}: ${name}: ${err.message} ${pointersOf(err)}`)
      : err;
  const faults = toFaults(err, file);
  if (faults.length > 0) return new RejectedError(faults);
  return new RejectedError([{ file: file.file, line: file.textLine, column: 1, detail: err.message }]);
}

const pointersOf = ({ problem }: ProblemError): string =>
  (problem.errors ?? []).map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ');

class RejectedError extends CommandError {
  constructor(faults: readonly Fault[]) {
    super(faults.map(toLine).join('\n'));
  }
}
