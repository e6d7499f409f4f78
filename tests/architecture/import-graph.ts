/** Circles in the graph of imports, and what a set of programs reaches. */

import type { SourceFile } from './source-tree.ts';

type Tree = ReadonlyMap<string, Pick<SourceFile, 'imports'>>;

export function reachableFrom(tree: Tree, programs: readonly string[]): Set<string> {
  const reached = new Set(programs);
  // A set that grows while it is iterated also yields what was added.
  for (const path of reached) {
    for (const target of tree.get(path)?.imports ?? []) if (tree.has(target)) reached.add(target);
  }
  return reached;
}

/** Sets of files that reach each other (strongly connected components, by Tarjan's algorithm), sorted by name. */
export function importCircles(tree: Tree): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const lower = (path: string, to: number) => lowest.set(path, Math.min(lowest.get(path) ?? to, to));

  const visit = (path: string): void => {
    const number = order.size;
    order.set(path, number);
    lower(path, number);
    open.push(path);
    const targets = (tree.get(path)?.imports ?? []).filter((target) => tree.has(target));
    for (const target of targets) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lower(path, lowest.get(target) as number);
    }
    if (lowest.get(path) !== number) return;
    const circle = open.splice(open.indexOf(path)).sort();
    if (circle.length > 1 || targets.includes(path)) circles.push(circle);
  };
  for (const path of tree.keys()) if (!order.has(path)) visit(path);
  return circles.sort();
}
