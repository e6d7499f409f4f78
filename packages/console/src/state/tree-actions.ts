/** Changes the tree: creates folders, renames, moves and deletes nodes. */

import type { Scope } from '@datahub/contract/scopes';
import { signal } from '@preact/signals';
import { call, callJson, part } from '../api/client.ts';
import type { Query, Source, TreeNode } from '../api/types.ts';
import { linkTo } from './route.ts';
import { hubId, loadTree, walk } from './workspace.ts';

export interface TreeChange {
  action: 'rename' | 'move' | 'delete' | 'folder';
  node: TreeNode;
}

/** The change whose dialog is open. */
export const askedChange = signal<TreeChange | undefined>(undefined);

export const askChange = (action: TreeChange['action'], node: TreeNode): void => {
  askedChange.value = { action, node };
};

export const nodeLink = ({ nodeType, nodeId }: TreeNode): string =>
  linkTo('hub', hubId.value ?? '', nodeType, nodeId);

export async function createFolder(label: string, parentNodeId: string): Promise<void> {
  await callJson(`v1/hubs/${part(hubId.value as string)}/folders`, { body: { label, parentNodeId } });
  await loadTree();
}

const scopes: Record<string, Scope> = {
  query: 'queries:write',
  source: 'sources:write',
};
/** The scope that changing a node needs. */
export const scopeOf = ({ nodeType }: TreeNode): Scope => scopes[nodeType] ?? 'hubs:write';

const paths = { folder: 'v1/folders', query: 'v1/queries', source: 'v1/sources' } as const;
export const pathOf = ({ nodeType, nodeId }: TreeNode) =>
  `${paths[nodeType as keyof typeof paths]}/${part(nodeId)}`;

/** Where the name of a node is read. A folder is only in the tree of its hub. */
export const namedAt = (node: TreeNode): string =>
  node.nodeType === 'folder' ? `v1/hubs/${part(hubId.value ?? '')}/contents` : pathOf(node);

/** The name of a node in what is read at `namedAt`. */
export function nameIn(read: TreeNode | Query | Source, { nodeId, label }: TreeNode): string {
  if ('meta' in read) return read.meta.label;
  if (!('children' in read)) return read.label;
  return [...walk(read)].find(({ node }) => node.nodeId === nodeId)?.node.label ?? label;
}

/** The body of a PUT that changes these members of the node. */
export const nodeBody = (
  { nodeType }: TreeNode,
  change: { label?: string; parentNodeId?: string },
): object => (nodeType === 'query' ? { meta: change } : change);

export async function move(node: TreeNode, parentNodeId: string): Promise<void> {
  await call(pathOf(node), { method: 'PUT', body: nodeBody(node, { parentNodeId }) });
  await loadTree();
}

export async function remove(node: TreeNode): Promise<void> {
  await call(pathOf(node), { method: 'DELETE' });
  await loadTree();
}

/** False if the target is below the folder itself, or already its parent. */
export function canMove(node: TreeNode, target: TreeNode, pathOfTarget: TreeNode[]): boolean {
  if (node.nodeType === 'category' || target.nodeId === node.parentNodeId) return false;
  if (target.nodeType !== 'folder' && target.nodeType !== 'category') return false;
  return ![...pathOfTarget, target].some(({ nodeId }) => nodeId === node.nodeId);
}
