/** What the frame shows around every view: hubs, the tree of the chosen one, its sources, the classifiers. */

import { batch, computed, signal } from '@preact/signals';
import { callJson, callList, part, problemOf } from '../api/client.ts';
import type { Hub, ListedClassifier, Problem, Source, TreeNode } from '../api/types.ts';
import { createAnswerOrder } from './answer-order.ts';
import { route } from './route.ts';

export const hubs = signal<Hub[] | undefined>(undefined);
export const classifiers = signal<ListedClassifier[]>([]);
/** Why hubs could not be read: often a key that may only execute. */
export const hubsProblem = signal<Problem | undefined>(undefined);

export const hubId = computed(() => (route.value[0] === 'hub' ? route.value[1] : undefined));
export const hub = computed(() => hubs.value?.find((one) => one.hubId === hubId.value));

interface Contents {
  hubId: string;
  tree: TreeNode | undefined;
  /** Why the tree could not be read. */
  problem: Problem | undefined;
  sources: Source[];
}

const read = signal<Contents | undefined>(undefined);
/** Undefined until those of this hub were read: what is done in the tree of another hub would be done in the wrong one. */
const contents = computed(() => (read.value?.hubId === hubId.value ? read.value : undefined));
export const tree = computed(() => contents.value?.tree);
export const treeProblem = computed(() => contents.value?.problem);
export const sources = computed(() => contents.value?.sources ?? []);

const order = { hubs: createAnswerOrder(), contents: createAnswerOrder(), classifiers: createAnswerOrder() };

/** Reads the archived hubs only for a page that shows one: most pages do not. */
export async function loadHubs(): Promise<void> {
  const isLatest = order.hubs();
  try {
    const active = await callList<Hub>('v1/hubs', { pageSize: 1_000 });
    const [area, chosen] = route.value;
    const isActive = area === 'hub' && active.some((one) => one.hubId === chosen);
    const archived = isActive
      ? (hubs.value ?? []).filter((one) => one.archived)
      : await callList<Hub>('v1/hubs?archived=1', { pageSize: 1_000 });
    if (!isLatest()) return;
    batch(() => {
      const known = new Map([...active, ...archived].map((one) => [one.hubId, one]));
      hubs.value = [...known.values()];
      hubsProblem.value = undefined;
    });
  } catch (err) {
    if (isLatest()) hubsProblem.value = problemOf(err);
  }
}

/** Reads the tree and the sources of a hub. */
export async function loadTree(id: string | undefined = hubId.value): Promise<void> {
  if (id === undefined) return;
  const isLatest = order.contents();
  const [nodes, listed] = await Promise.allSettled([
    callJson<TreeNode>(`v1/hubs/${part(id)}/contents`),
    callList<Source>(`v1/sources?hubId=${part(id)}`),
  ]);
  if (!isLatest()) return;
  read.value = {
    hubId: id,
    tree: nodes.status === 'fulfilled' ? nodes.value : undefined,
    problem: nodes.status === 'rejected' ? problemOf(nodes.reason) : undefined,
    sources: listed.status === 'fulfilled' ? listed.value : [],
  };
}

export async function loadClassifiers(): Promise<void> {
  const isLatest = order.classifiers();
  const listed = await callList<ListedClassifier>('v1/classifiers').catch(() => []);
  if (isLatest()) classifiers.value = listed;
}

export const category = (subType: string): TreeNode | undefined =>
  tree.value?.children.find((node) => node.nodeSubType === subType);

/** Nodes below `node` with the folders that lead to them. */
export function* walk(
  node: TreeNode | undefined,
  path: TreeNode[] = [],
): Generator<{ node: TreeNode; path: TreeNode[] }> {
  for (const child of node?.children ?? []) {
    yield { node: child, path };
    yield* walk(child, [...path, child]);
  }
}

export const nodesIn = (root: TreeNode | undefined, type: 'query' | 'source'): TreeNode[] =>
  [...walk(root)].map(({ node }) => node).filter(({ nodeType }) => nodeType === type);

export function findNode(nodeId: string | undefined): { node: TreeNode; path: TreeNode[] } | undefined {
  for (const found of walk(tree.value)) if (found.node.nodeId === nodeId) return found;
  return undefined;
}

/** Labels of the folders above a node, without the category. */
export const foldersAbove = (nodeId: string | undefined): string[] =>
  (findNode(nodeId)?.path ?? []).filter(({ nodeType }) => nodeType === 'folder').map(({ label }) => label);
