/** Watches of the files and of the hub: reads those of the hub, compares them, and applies the changes. */

import type { Routes } from '@datahub/client';
import { type Hub, listAll } from '../hub.ts';
import { type ComparedPaths, comparePaths, type PathStep } from './compare-paths.ts';
import { changedSincePlan, hubChanged, readWithETag } from './conflicts.ts';
import type { Fault } from './fault.ts';
import type { WatchModel } from './model.ts';
import type { RemoteHub } from './remote.ts';
import { changedWatchMembers, type WatchFile } from './watch-file.ts';

export interface RemoteWatch {
  watchId: string;
  model: WatchModel;
}

export type WatchStep = PathStep<'watch', WatchFile, RemoteWatch>;

/** What files call by its label or path. */
interface Names {
  labels: Map<string, string>;
  /** Undefined if several destinations have the label. */
  destinationIds: Map<string, string | undefined>;
}

export interface RemoteWatches extends Names {
  watches: RemoteWatch[];
  /** The number of watches without a path, which files cannot name. */
  nameless: number;
}

type Queries = Pick<RemoteHub, 'queries'>;

/** A hub that does not exist yet has no watches. */
export async function readWatches(hub: Hub, remote: RemoteHub | undefined): Promise<RemoteWatches> {
  const [found, destinations] = await Promise.all([
    remote === undefined ? [] : listAll(hub, 'GET /v1/watches', { hubId: remote.hubId, limit: 200 }),
    listAll(hub, 'GET /v1/destinations', { limit: 200 }),
  ]);
  const names: Names = { labels: new Map(), destinationIds: new Map() };
  for (const { destinationId, label } of destinations) {
    names.labels.set(destinationId, label);
    names.destinationIds.set(label, names.destinationIds.has(label) ? undefined : destinationId);
  }
  const watches = found.flatMap((watch): RemoteWatch[] =>
    watch.path === null
      ? []
      : [{ watchId: watch.watchId, model: toModel(watch, { names, queries: remote?.queries ?? [] }) }],
  );
  return { ...names, watches, nameless: found.length - watches.length };
}

type WatchAnswer = Routes['GET /v1/watches/{watchId}']['answer'];

/** A destination that was deleted, or that the key does not see, has its id for a label. */
function toModel(watch: WatchAnswer, { names, queries }: Queries & { names: Names }): WatchModel {
  const { label, path, context, schedule, when, by, include, paused, queryId } = watch;
  return {
    ...{ label, context, schedule, by, include, paused },
    path: path ?? '',
    query: queries.find((query) => query.queryId === queryId)?.model.path ?? queryId,
    when: when as WatchModel['when'],
    to: watch.to.map((id) => names.labels.get(id) ?? id),
  } as WatchModel;
}

interface Compared extends ComparedPaths<WatchStep> {
  faults: Fault[];
}

export function compareWatches(files: readonly WatchFile[], present: RemoteWatches | undefined): Compared {
  const rules = { kind: 'watch' as const, changed: changedWatchMembers };
  const faults = present === undefined ? [] : files.flatMap((file) => faultsOfLabels(file, present));
  return { ...comparePaths(files, present?.watches, rules), faults };
}

function faultsOfLabels({ file, model, place }: WatchFile, { destinationIds }: Names): Fault[] {
  return model.to.flatMap((label, i): Fault[] => {
    if (destinationIds.get(label) !== undefined) return [];
    const known = [...destinationIds.keys()].join(', ');
    const detail = destinationIds.has(label)
      ? `Several destinations have the label ${label}; rename them`
      : `There is no destination ${label}; ${known === '' ? 'the key sees none' : `there are ${known}`}`;
    return [{ file, ...place(['to', i]), detail }];
  });
}

interface Place {
  remote: RemoteHub | undefined;
  watches: RemoteWatches | undefined;
}

export async function applyWatch(hub: Hub, step: WatchStep, { remote, watches }: Place): Promise<void> {
  if (remote === undefined || watches === undefined) throw hubChanged();
  const { hubId, queries } = remote;
  const place = { queries, names: watches };
  if (step.action === 'create') {
    await hub.call('POST /v1/watches', { body: { hubId, ...toBody(step.file.model, place) } });
    return;
  }
  const path = { watchId: step.remote.watchId };
  const ifMatch = await requireUnchanged(hub, step.remote, place);
  if (step.action === 'delete') await hub.call('DELETE /v1/watches/{watchId}', { path, ifMatch });
  else {
    const body = toBody(step.file.model, place);
    await hub.call('PUT /v1/watches/{watchId}', { path, body, ifMatch });
  }
}

type Body = Omit<Routes['POST /v1/watches']['body'], 'hubId'>;

function toBody(watch: WatchModel, { queries, names }: Queries & { names: Names }): Body {
  const { query: queryPath, to, ...rest } = watch;
  const query = queries.find(({ model }) => model.path === queryPath);
  if (query === undefined) throw hubChanged();
  const ids = to.map((label) => names.destinationIds.get(label) ?? '');
  return { ...rest, queryId: query.queryId, to: ids } as Body;
}

/** Returns the ETag of a watch that is still what the plan compared with. */
async function requireUnchanged(
  hub: Hub,
  { watchId, model }: RemoteWatch,
  place: Queries & { names: Names },
): Promise<string> {
  const { now, etag } = await readWithETag((onResponse) =>
    hub.call('GET /v1/watches/{watchId}', { path: { watchId }, onResponse }),
  );
  if (now.path === model.path && changedWatchMembers(toModel(now, place), model).length === 0) return etag;
  throw changedSincePlan('watch', model.path);
}
