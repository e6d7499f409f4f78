/** Which folders of the tree are open. It outlives the tab. */

import { signal } from '@preact/signals';
import { ofBrowser } from '../api/storage.ts';
import type { TreeNode } from '../api/types.ts';
import { category } from './workspace.ts';

const storedAs = 'datahub.folders';
const storedMax = 500;
/** A tree with more nodes begins with closed folders. */
const openMax = 50;

/** The folders that a person opened or closed; the last one is at the end. */
const chosen = signal(new Map<string, boolean>(read()));

function read(): [string, boolean][] {
  try {
    const stored: unknown = JSON.parse(ofBrowser.get(storedAs) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isEntry) : [];
  } catch {
    return [];
  }
}

const isEntry = (one: unknown): one is [string, boolean] =>
  Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'boolean';

export const isOpen = (folder: TreeNode): boolean => chosen.value.get(folder.nodeId) ?? !isLarge();

export function setOpen(folders: TreeNode[], open: boolean): void {
  const next = new Map(chosen.value);
  for (const { nodeId } of folders) {
    next.delete(nodeId);
    next.set(nodeId, open);
  }
  chosen.value = next;
  ofBrowser.set(storedAs, JSON.stringify([...next].slice(-storedMax)));
}

function isLarge(): boolean {
  let nodes = 0;
  const counts = (node: TreeNode): boolean =>
    node.children.some((child) => ++nodes > openMax || counts(child));
  const queries = category('queries');
  return queries !== undefined && counts(queries);
}
