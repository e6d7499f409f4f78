import { describe, expect, it } from 'vitest';
import { heightOf, levelOf, levelsMax } from '../src/folder.ts';

/** `b` in `a`, and so on; what stands alone hangs below a category. */
const folders = (...paths: string[]) =>
  new Map(
    paths.flatMap((path) =>
      [...path].map((id, i) => [id, { parentNodeId: path[i - 1] ?? 'category' }] as const),
    ),
  );

describe('a folder', () => {
  const tree = folders('abcd', 'xy');

  it('has a level', () => {
    expect(['category', 'a', 'd', 'y'].map((id) => levelOf(id, tree))).toEqual([0, 1, 4, 2]);
  });

  it('takes as many levels as there are below it', () => {
    expect(['a', 'b', 'd', 'x', 'y'].map((id) => heightOf(id, tree))).toEqual([4, 3, 1, 2, 1]);
  });

  it('is not followed around a circle', () => {
    expect(levelOf('a', new Map([['a', { parentNodeId: 'a' }]]))).toBe(levelsMax + 1);
  });
});
