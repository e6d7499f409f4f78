/** A folder in a hub's tree: pure rules. */

import type { Complete } from '@datahub/contract/complete';
import { createChecker } from './check.ts';
import type { FolderDoc, HubDoc, NodeSubType } from './documents.ts';
import type { MakeContext } from './hub.ts';

/** A place below which nodes hang: a category of the hub, or a folder. */
export interface Parent {
  nodeId: string;
  nodeSubType: NodeSubType;
}

export function categoryOf(hub: HubDoc, nodeId: string): Parent | undefined {
  if (nodeId === hub.queriesNodeId) return { nodeId, nodeSubType: 'queries' };
  if (nodeId === hub.sourcesNodeId) return { nodeId, nodeSubType: 'sources' };
  return undefined;
}

export function makeFolder(
  input: { label: string; hub: HubDoc; parent: Parent },
  { accountId, nowMs, createId }: MakeContext,
): FolderDoc {
  const check = createChecker();
  const folder: Complete<FolderDoc> = {
    id: createId('hrt', nowMs),
    accountId,
    version: 1,
    hubId: input.hub.id,
    parentNodeId: input.parent.nodeId,
    nodeSubType: input.parent.nodeSubType,
    label: check.label(['label'], input.label),
    deleting: 0,
    createdAt: nowMs,
    updatedAt: null,
  };
  check.done();
  return folder;
}

export function patchFolder(
  folder: FolderDoc,
  patch: { label?: string | undefined; parentNodeId?: string | undefined },
): FolderDoc {
  const check = createChecker();
  const label = patch.label === undefined ? folder.label : check.label(['label'], patch.label);
  check.done();
  const parentNodeId = patch.parentNodeId ?? folder.parentNodeId;
  return label === folder.label && parentNodeId === folder.parentNodeId
    ? folder
    : { ...folder, label, parentNodeId };
}

/** True if `folderId` is `fromId` or an ancestor of it. Moving the folder there would make a cycle. */
export function isAbove(folderId: string, fromId: string, folders: Parents): boolean {
  let at: string | undefined = fromId;
  for (let steps = 0; at !== undefined && steps <= folders.size; steps++) {
    if (at === folderId) return true;
    at = folders.get(at)?.parentNodeId;
  }
  return false;
}

/** Levels of nested folders. */
export const levelsMax = 64;

type Parents = ReadonlyMap<string, Pick<FolderDoc, 'parentNodeId'>>;

/** The number of folders from a node up to its category; counting stops beyond `levelsMax`. */
export function levelOf(nodeId: string, folders: Parents): number {
  let level = 0;
  for (let at = folders.get(nodeId); at !== undefined && level <= levelsMax; level++) {
    at = folders.get(at.parentNodeId);
  }
  return level;
}

/** The number of levels of a folder and its descendants. */
export function heightOf(folderId: string, folders: Parents): number {
  const top = levelOf(folderId, folders);
  let height = 1;
  for (const id of folders.keys()) {
    const level = levelOf(id, folders);
    if (level - top >= height && isAbove(folderId, id, folders)) height = level - top + 1;
  }
  return height;
}
