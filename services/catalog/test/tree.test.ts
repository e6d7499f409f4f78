import { expect, it } from 'vitest';
import type { HubDoc } from '../src/documents.ts';
import { buildTree } from '../src/tree.ts';

it('builds the tree of a large hub in turns', async () => {
  const hub = { id: 'h', label: 'large' } as HubDoc;
  const parts = (kind: string) =>
    Array.from({ length: 50_000 }, (_, i) => ({
      ...{ id: `${kind}${i}`, label: 'x', nodeSubType: 'queries' as const },
      parentNodeId: i === 0 ? '' : `f${(i * 7_919) % i}`,
    }));
  let turns = 0;
  let isOver = false;
  const look = (): void => {
    turns++;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  const root = await buildTree({ hub, folders: parts('f'), sources: [], queries: parts('q') });
  isOver = true;
  expect(turns).toBeGreaterThan(3);
  const [queries] = root.children;
  expect(queries?.children.map(({ nodeId }) => nodeId)).toEqual(['f0', 'q0']);
});
