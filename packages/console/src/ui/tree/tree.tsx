/** One branch of the tree: folders and their contents, for pointer and keyboard. */

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { TreeNode } from '../../api/types.ts';
import { isOpen, setOpen } from '../../state/open-folders.ts';
import { may } from '../../state/permissions.ts';
import { route } from '../../state/route.ts';
import { askChange, canMove, move, nodeLink, scopeOf } from '../../state/tree-actions.ts';
import { findNode, sources } from '../../state/workspace.ts';
import { engineName } from '../format.ts';
import { Icon, type IconName } from '../icons.tsx';
import { Menu, type MenuItem } from '../menu.tsx';
import { notify } from '../notice.tsx';

const dragged = signal<TreeNode | undefined>(undefined);

interface Line {
  node: TreeNode;
  level: number;
}

function linesOf(node: TreeNode, level: number): Line[] {
  const children = [...node.children].sort(foldersFirst);
  return children.flatMap((child) => [
    { node: child, level },
    ...(child.nodeType === 'folder' && isOpen(child) ? linesOf(child, level + 1) : []),
  ]);
}

/** Sorts folders first, and keeps the order of the rest. */
const foldersFirst = (a: TreeNode, b: TreeNode) =>
  Number(b.nodeType === 'folder') - Number(a.nodeType === 'folder');

const toggle = (node: TreeNode, open = !isOpen(node)): void => setOpen([node], open);

/** Moves a dragged node to the folder on which it is dropped. */
function useDrop() {
  const over = useSignal<string | undefined>(undefined);
  const drop = async (target: TreeNode) => {
    const node = dragged.value;
    over.value = undefined;
    dragged.value = undefined;
    if (node === undefined) return;
    const path = findNode(target.nodeId)?.path ?? [];
    if (!canMove(node, target, path)) return;
    await move(node, target.nodeId).then(
      () => notify(`Moved “${node.label}” to “${target.label}”.`),
      (err) => notify(problemOf(err).detail ?? 'It could not be moved.'),
    );
  };
  const dropOn = (target: TreeNode) => ({
    onDragOver: (event: DragEvent) => {
      if (dragged.value === undefined) return;
      if (!canMove(dragged.value, target, findNode(target.nodeId)?.path ?? [])) return;
      event.preventDefault();
      event.stopPropagation();
      over.value = target.nodeId;
    },
    onDragLeave: () => {
      if (over.value === target.nodeId) over.value = undefined;
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      event.stopPropagation();
      void drop(target);
    },
  });
  return { over, dropOn };
}

export function Tree({ root, label, empty }: { root: TreeNode; label: string; empty: string }) {
  const lines = linesOf(root, 1);
  const chosen = route.value[3];
  const focused = useSignal(chosen);
  const current = lines.some(({ node }) => node.nodeId === focused.value)
    ? focused.value
    : lines[0]?.node.nodeId;
  useReveal(root, chosen);
  const { over, dropOn } = useDrop();
  const keydown = (event: KeyboardEvent) => {
    const list = event.currentTarget as HTMLElement;
    if (treeKey(event, { lines, current, list })) event.preventDefault();
  };
  return (
    <div
      class="tree"
      role="tree"
      aria-label={label}
      data-over={over.value === root.nodeId}
      onKeyDown={keydown}
      {...dropOn(root)}
    >
      {lines.length === 0 && (
        <div class="hint tree-empty" role="treeitem" aria-level={1} aria-selected={false} tabIndex={-1}>
          {empty}
        </div>
      )}
      {lines.map((line) => (
        <TreeItem
          key={line.node.nodeId}
          line={line}
          tabIndex={line.node.nodeId === current ? 0 : -1}
          over={over.value === line.node.nodeId}
          drop={dropOn(
            line.node.nodeType === 'folder'
              ? line.node
              : (findNode(line.node.parentNodeId ?? '')?.node ?? root),
          )}
          onFocus={() => {
            focused.value = line.node.nodeId;
          }}
        />
      ))}
    </div>
  );
}

/** Opens the folders above a node that is shown now, and brings it into sight. */
function useReveal(root: TreeNode, chosen: string | undefined): void {
  const isHere = chosen !== undefined && findNode(chosen)?.path[0]?.nodeId === root.nodeId;
  useEffect(() => {
    if (!isHere) return;
    const closed = (findNode(chosen)?.path ?? []).filter(
      (node) => node.nodeType === 'folder' && !isOpen(node),
    );
    if (closed.length > 0) setOpen(closed, true);
    const find = () => document.querySelector(`[data-node="${CSS.escape(chosen)}"]`);
    requestAnimationFrame(() => find()?.scrollIntoView({ block: 'nearest' }));
  }, [isHere, chosen]);
}

interface TreeItemProps {
  line: Line;
  tabIndex: number;
  over: boolean;
  drop: object;
  onFocus(): void;
}

const icons: Partial<Record<string, IconName>> = { folder: 'folder', query: 'query', source: 'source' };

function TreeItem({ line: { node, level }, tabIndex, over, drop, onFocus }: TreeItemProps) {
  const isFolder = node.nodeType === 'folder';
  const open = isFolder && isOpen(node);
  const isChosen = route.value[3] === node.nodeId;
  const engine =
    node.nodeType === 'source'
      ? sources.value.find(({ sourceId }) => sourceId === node.nodeId)?.engine
      : undefined;
  const common = {
    class: 'row',
    'aria-label': engine === undefined ? node.label : `${node.label} ${engineName(engine)}`,
    role: 'treeitem' as const,
    'data-node': node.nodeId,
    'data-over': over,
    'aria-level': level,
    'aria-selected': isChosen,
    'aria-expanded': isFolder ? open : undefined,
    'aria-current': isChosen ? ('page' as const) : undefined,
    tabIndex,
    title: node.label,
    draggable: may(scopeOf(node)),
    onFocus,
    onDragStart: (event: DragEvent) => {
      dragged.value = node;
      event.dataTransfer?.setData('text/plain', node.label);
    },
    onDragEnd: () => {
      dragged.value = undefined;
    },
    ...drop,
    ref: (element: HTMLElement | null) => {
      element?.style.setProperty('--level', String(level));
    },
  };
  const icon = isFolder ? 'chevron' : (icons[node.nodeType] ?? 'query');
  const inside = (
    <>
      <span class={open ? 'twist open' : 'twist'}>
        <Icon name={icon} />
      </span>
      <span class="row-label">{node.label}</span>{' '}
      {engine !== undefined && <span class="row-note">{engineName(engine)}</span>}
    </>
  );
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its items.
    // biome-ignore lint/a11y/noStaticElementInteractions: its role is among the properties above.
    <div {...common} onClick={isFolder ? () => toggle(node) : undefined}>
      {isFolder ? (
        <span class="row-main">{inside}</span>
      ) : (
        <a class="row-main" href={nodeLink(node)} tabIndex={-1} draggable={false}>
          {inside}
        </a>
      )}
      <Menu label={`Actions for ${node.label}`} tabIndex={-1} items={actionsOf(node)} />
    </div>
  );
}

function actionsOf(node: TreeNode): MenuItem[] {
  const needs = scopeOf(node);
  const inside: MenuItem[] = [{ label: 'New folder inside', needs, run: () => askChange('folder', node) }];
  return [
    ...(node.nodeType === 'folder' ? inside : []),
    { label: 'Rename', keys: 'F2', needs, run: () => askChange('rename', node) },
    { label: 'Move', keys: 'M', needs, run: () => askChange('move', node) },
    { label: 'Delete', keys: 'Del', danger: true, needs, run: () => askChange('delete', node) },
  ];
}

interface TreeKeyContext {
  lines: Line[];
  current: string | undefined;
  list: HTMLElement;
}

/** Handles a key. Returns true if it had an effect. */
function treeKey(event: KeyboardEvent, { lines, current, list }: TreeKeyContext): boolean {
  if (event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = lines.findIndex(({ node }) => node.nodeId === current);
  const line = lines[at];
  if (line === undefined) return false;
  const focus = (to: number) => {
    const id = lines[Math.max(0, Math.min(to, lines.length - 1))]?.node.nodeId ?? '';
    list.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const item = () => list.querySelector(`[data-node="${CSS.escape(line.node.nodeId)}"]`);
  const open = () => item()?.querySelector('a')?.click();
  const isFolder = line.node.nodeType === 'folder';
  const opened = isFolder && isOpen(line.node);
  const keys: Record<string, () => unknown> = {
    ArrowDown: () => focus(at + 1),
    ArrowUp: () => focus(at - 1),
    Home: () => focus(0),
    End: () => focus(lines.length - 1),
    ArrowRight: () => (isFolder && !opened ? toggle(line.node, true) : focus(at + 1)),
    ArrowLeft: () =>
      opened
        ? toggle(line.node, false)
        : focus(lines.findIndex(({ node }) => node.nodeId === line.node.parentNodeId)),
  };
  if (may(scopeOf(line.node))) {
    keys.F2 = () => askChange('rename', line.node);
    keys.Delete = () => askChange('delete', line.node);
    keys.m = () => askChange('move', line.node);
  }
  keys.Enter = () => (isFolder ? toggle(line.node) : open());
  keys[' '] = keys.Enter;
  keys.ContextMenu = () => item()?.querySelector('button')?.click();
  const act = keys[event.key];
  act?.();
  return act !== undefined;
}
