/** The tree of a hub, derived from the documents that name their parents. */

import type { Node } from '@datahub/proto/catalog/v1/catalog';
import { createLoopYield, type MayYield } from '@datahub/service-kit/yield-to-loop';
import type { FolderDoc, HubDoc, NodeSubType, QueryDoc, SourceDoc } from './documents.ts';

export interface TreeParts {
  hub: HubDoc;
  folders: Pick<FolderDoc, 'id' | 'parentNodeId' | 'label' | 'nodeSubType'>[];
  sources: Pick<SourceDoc, 'id' | 'parentNodeId' | 'label'>[];
  queries: Pick<QueryDoc, 'id' | 'parentNodeId' | 'label'>[];
}

/**
 * Folders come before leaves, each in order of creation. A leaf whose folder is gone is shown below its category, and so
 * is one folder of each circle, so that everything can be reached.
 */
export async function buildTree({ hub, folders, sources, queries }: TreeParts): Promise<Node> {
  const mayYield = createLoopYield();
  const queriesRoot = category(hub, 'queries');
  const sourcesRoot = category(hub, 'sources');
  const places = new Map([queriesRoot, sourcesRoot].map((node) => [node.nodeId, node]));
  const rootOf = (subType: NodeSubType) => (subType === 'queries' ? queriesRoot : sourcesRoot);
  for (const folder of folders) {
    places.set(folder.id, folderNode(folder));
    await mayYield();
  }
  const cuts = await findCuts(folders, mayYield);
  for (const folder of folders) {
    const node = places.get(folder.id) as Node;
    const parent = cuts.has(folder.id) ? undefined : places.get(folder.parentNodeId);
    hang(node, parent ?? rootOf(folder.nodeSubType));
    await mayYield();
  }
  for (const source of sources) {
    hang(leaf(source, 'source'), places.get(source.parentNodeId) ?? sourcesRoot);
    await mayYield();
  }
  for (const query of queries) {
    hang(leaf(query, 'query'), places.get(query.parentNodeId) ?? queriesRoot);
    await mayYield();
  }
  return { nodeId: hub.id, nodeType: 'root', label: hub.label, children: [queriesRoot, sourcesRoot] };
}

/**
 * One folder of each circle. Two concurrent moves can put each folder into the other one, and a crash can keep them from
 * being moved back.
 */
async function findCuts(folders: TreeParts['folders'], mayYield: MayYield): Promise<Set<string>> {
  const parents = new Map(folders.map(({ id, parentNodeId }) => [id, parentNodeId]));
  const cuts = new Set<string>();
  /** For each folder, the one from which it was reached first. */
  const reachedFrom = new Map<string, string>();
  for (const { id } of folders) {
    let at: string | undefined = id;
    while (at !== undefined && parents.has(at) && !reachedFrom.has(at)) {
      reachedFrom.set(at, id);
      at = parents.get(at);
    }
    if (at !== undefined && reachedFrom.get(at) === id) cuts.add(at);
    await mayYield();
  }
  return cuts;
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
