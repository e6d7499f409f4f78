/** The tree of a hub, derived from the documents that name their parents. */

import type { Node } from '@datahub/proto/catalog/v1/catalog';
import type { FolderDoc, HubDoc, NodeSubType, QueryDoc, SourceDoc } from './documents.ts';

export interface TreeParts {
  hub: HubDoc;
  folders: Pick<FolderDoc, 'id' | 'parentNodeId' | 'label' | 'nodeSubType'>[];
  sources: Pick<SourceDoc, 'id' | 'parentNodeId' | 'label'>[];
  queries: Pick<QueryDoc, 'id' | 'parentNodeId' | 'label'>[];
}

/**
 * Folders come before leaves, each in order of creation. A leaf whose folder is gone is shown below its category, so
 * that everything can be reached.
 */
export function buildTree({ hub, folders, sources, queries }: TreeParts): Node {
  const queriesRoot = category(hub, 'queries');
  const sourcesRoot = category(hub, 'sources');
  const places = new Map([queriesRoot, sourcesRoot].map((node) => [node.nodeId, node]));
  const rootOf = (subType: NodeSubType) => (subType === 'queries' ? queriesRoot : sourcesRoot);
  for (const folder of folders) places.set(folder.id, folderNode(folder));
  for (const folder of folders) {
    const node = places.get(folder.id) as Node;
    hang(node, places.get(folder.parentNodeId) ?? rootOf(folder.nodeSubType));
  }
  for (const source of sources) hang(leaf(source, 'source'), places.get(source.parentNodeId) ?? sourcesRoot);
  for (const query of queries) hang(leaf(query, 'query'), places.get(query.parentNodeId) ?? queriesRoot);
  return { nodeId: hub.id, nodeType: 'root', label: hub.label, children: [queriesRoot, sourcesRoot] };
}

function category(hub: HubDoc, nodeSubType: NodeSubType): Node {
  return {
    nodeId: nodeSubType === 'queries' ? hub.queriesNodeId : hub.sourcesNodeId,
    parentNodeId: hub.id,
    nodeType: 'category',
    nodeSubType,
    label: nodeSubType === 'queries' ? 'Queries' : 'Sources',
    children: [],
  };
}

function folderNode(folder: TreeParts['folders'][number]): Node {
  return {
    nodeId: folder.id,
    nodeType: 'folder',
    nodeSubType: folder.nodeSubType,
    label: folder.label,
    children: [],
  };
}

function leaf(doc: { id: string; label: string }, nodeType: 'source' | 'query'): Node {
  return { nodeId: doc.id, nodeType, label: doc.label, children: [] };
}

function hang(node: Node, parent: Node): void {
  node.parentNodeId = parent.nodeId;
  parent.children.push(node);
}
