/** What the frame shows around every view: hubs, the tree of the chosen one, its sources, the classifiers. */

import { batch, computed, signal } from '@preact/signals';
import { callJson, callList, part, problemOf } from '../api/client.ts';
import type { Classifier, Hub, Problem, Source, TreeNode } from '../api/types.ts';
import { route } from './route.ts';

export const hubs = signal<Hub[] | undefined>(undefined);
export const tree = signal<TreeNode | undefined>(undefined);
export const sources = signal<Source[]>([]);
export const classifiers = signal<Classifier[]>([]);
/** Why hubs, or the tree, could not be read: often a key that may only execute. */
export const hubsProblem = signal<Problem | undefined>(undefined);
export const treeProblem = signal<Problem | undefined>(undefined);

export const hubId = computed(() => (route.value[0] === 'hub' ? route.value[1] : undefined));
export const hub = computed(() => hubs.value?.find((one) => one.hubId === hubId.value));

export async function loadHubs(): Promise<void> {
  try {
    const [active, archived] = await Promise.all([
      callList<Hub>('v1/hubs', { pageSize: 20 }),
      callList<Hub>('v1/hubs?archived=1', { pageSize: 20 }),
    ]);
    batch(() => {
      const known = new Map([...active, ...archived].map((one) => [one.hubId, one]));
      hubs.value = [...known.values()];
      hubsProblem.value = undefined;
    });
  } catch (err) {
    hubsProblem.value = problemOf(err);
  }
}

let turn = 0;
/** The tree of a hub; an answer that was overtaken by another hub is dropped. */
export async function loadTree(id: string | undefined = hubId.value): Promise<void> {
  const mine = ++turn;
  if (id === undefined) return;
  const [contents, listed] = await Promise.allSettled([
    callJson<TreeNode>(`v1/hubs/${part(id)}/contents`),
    callList<Source>(`v1/sources?hubId=${part(id)}`),
  ]);
  if (mine !== turn) return;
  batch(() => {
    tree.value = contents.status === 'fulfilled' ? contents.value : undefined;
    treeProblem.value = contents.status === 'rejected' ? problemOf(contents.reason) : undefined;
    sources.value = listed.status === 'fulfilled' ? listed.value : [];
  });
}

export async function loadClassifiers(): Promise<void> {
  classifiers.value = await callList<Classifier>('v1/classifiers').catch(() => []);
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

export const queriesIn = (root: TreeNode | undefined): TreeNode[] =>
  [...walk(root)].map(({ node }) => node).filter(({ nodeType }) => nodeType === 'query');

export function findNode(nodeId: string | undefined): { node: TreeNode; path: TreeNode[] } | undefined {
  for (const found of walk(tree.value)) if (found.node.nodeId === nodeId) return found;
  return undefined;
}

/** Labels of the folders above a node, without the category. */
export const foldersAbove = (nodeId: string | undefined): string[] =>
  (findNode(nodeId)?.path ?? []).filter(({ nodeType }) => nodeType === 'folder').map(({ label }) => label);
