/** Reads a hub over the public API into the form of its files. */

import type { Node, Routes } from '@datahub/client';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import { CommandError } from '../failure.ts';
import { type FoundHub, type Hub, listAll } from '../hub.ts';
import {
  type ClassifierModel,
  folderKey,
  type HubModel,
  type QueryModel,
  type SourceModel,
  settingsOf,
  toPath,
} from './model.ts';

export interface RemoteSource extends SourceModel {
  sourceId: string;
}

export interface RemoteQuery {
  queryId: string;
  /** The stored path, or undefined: `model.path` is then made from the label. */
  path: string | undefined;
  model: QueryModel;
}

export interface RemoteHub {
  hubId: string;
  path: string | undefined;
  label: string;
  sources: RemoteSource[];
  /** In the order of the tree, parents first. */
  folders: { nodeId: string; labels: string[] }[];
  rootNodeId: string;
  queries: RemoteQuery[];
}

export async function readRemote(hub: Hub, { hubId, label, path }: FoundHub): Promise<RemoteHub> {
  const [tree, sources, queries] = await Promise.all([
    hub.call('GET /v1/hubs/{hubId}/contents', { path: { hubId } }),
    listAll(hub, 'GET /v1/sources', { hubId }),
    listAll(hub, 'GET /v1/queries', { hubId }),
  ]);
  if (tree.truncated) throw new CommandError('The hub is too large for its tree.');
  const { rootNodeId, folders } = readFolders(tree);
  requireOnce(
    'folders',
    folders.map(({ labels }) => labels.join('/')),
  );
  requireOnce(
    'sources',
    sources.map((source) => source.label),
  );
  const labelsOf = new Map(folders.map(({ nodeId, labels }) => [nodeId, labels]));
  const sourceOf = new Map(sources.map((source) => [source.sourceId, source]));
  const taken = new Set(queries.flatMap(({ meta }) => meta.path ?? []));
  return {
    ...{ hubId, label, path, rootNodeId, folders },
    sources: sources.map(({ sourceId, label, engine, connectionSettings }) => ({
      ...{ sourceId, label, engine, connectionSettings },
    })),
    queries: queries.map((query) => {
      const model = toModel(query, {
        source: sourceOf.get(query.config.source.sourceId)?.label ?? '',
        folder: labelsOf.get(query.meta.parentNodeId) ?? [],
        path: query.meta.path ?? toPath(query.meta.label, taken),
      });
      taken.add(model.path);
      return { queryId: query.config.query.queryId, path: query.meta.path, model };
    }),
  };
}

export function toModel(
  { meta, config }: Routes['GET /v1/queries/{queryId}']['answer'],
  { source, folder, path }: Pick<QueryModel, 'source' | 'folder' | 'path'>,
): QueryModel {
  const { command, context, notNull = [], query } = config;
  const model: Complete<QueryModel> = {
    ...{ path, label: meta.label, source, folder, command, context, notNull },
    ...settingsOf(config),
    text: query.query,
  };
  return withoutUndefined<QueryModel>(model);
}

export function readFolders(tree: Node): Pick<RemoteHub, 'folders' | 'rootNodeId'> {
  const root = tree.children.find(({ nodeSubType }) => nodeSubType === 'queries');
  const folders: RemoteHub['folders'] = [];
  const visit = (node: Node, above: string[]) => {
    for (const child of node.children) {
      if (child.nodeType !== 'folder') continue;
      const labels = [...above, child.label];
      folders.push({ nodeId: child.nodeId, labels });
      visit(child, labels);
    }
  };
  if (root !== undefined) visit(root, []);
  return { folders, rootNodeId: root?.nodeId ?? '' };
}

/** Files name folders and sources by their labels. */
function requireOnce(kind: string, names: readonly string[]): void {
  const twice = names.filter((name, i) => names.indexOf(name) < i);
  if (twice.length > 0)
    throw new CommandError(
      `Several ${kind} of the hub have the name ${[...new Set(twice)].join(', ')}. Rename them, because files name ${kind} by their labels.`,
    );
}

export async function readClassifiers(hub: Hub): Promise<(ClassifierModel & { classifierId: string })[]> {
  const found = await listAll(hub, 'GET /v1/classifiers');
  return found.map(({ classifierId, name }) => ({ classifierId, name }));
}

/** The path of the hub, or one that it can have: none of another hub. */
export async function pathOf(hub: Hub, { path, label }: RemoteHub): Promise<string> {
  if (path !== undefined) return path;
  const lists = await Promise.all([
    listAll(hub, 'GET /v1/hubs', { limit: 20 }),
    listAll(hub, 'GET /v1/hubs', { archived: '1', limit: 20 }),
  ]);
  return toPath(label, new Set(lists.flat().flatMap((one) => one.path ?? [])));
}

export const toHubModel = (
  remote: RemoteHub,
  { path, classifiers }: Pick<HubModel, 'path' | 'classifiers'>,
): HubModel => ({
  path,
  label: remote.label,
  sources: remote.sources.map(({ label, engine, connectionSettings }) => ({
    label,
    engine,
    connectionSettings,
  })),
  folders: remote.folders.map(({ labels }) => labels),
  classifiers,
  queries: remote.queries.map(({ model }) => model),
});

export const findFolder = (
  { folders, rootNodeId }: RemoteHub,
  labels: readonly string[],
): string | undefined =>
  labels.length === 0
    ? rootNodeId
    : folders.find((one) => folderKey(one.labels) === folderKey(labels))?.nodeId;
