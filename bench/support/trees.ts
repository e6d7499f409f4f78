/** The trees of other commits, so that a benchmark can run two versions of the hub in turns. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export const commitOf = (name: string) =>
  execFileSync('git', ['rev-parse', '--short=7', `${name}^{commit}`], { cwd: root, encoding: 'utf8' }).trim();

/** The tree of a commit, with its own dependencies. */
export function checkOut(commit: string): string {
  const tree = join(root, '.cache/trees', commit);
  if (existsSync(join(tree, 'node_modules'))) return tree;
  mkdirSync(tree, { recursive: true });
  execFileSync('sh', ['-c', `git archive "${commit}" | tar -x -C "${tree}"`], { cwd: root });
  execFileSync('npm', ['ci', '--no-fund', '--no-audit', '--prefer-offline'], { cwd: tree, stdio: 'ignore' });
  return tree;
}

/**
 * Node's arguments that start the hub of a tree in one process: V8's flags and the program. The process must run in the
 * tree. Trees from before 2026-11-23 have no launcher; their `npm start` names both.
 */
export async function argumentsOf(tree: string): Promise<string[]> {
  const flags = join(tree, 'packages/service-kit/v8-flags.mjs');
  if (existsSync(flags)) {
    const { v8Flags } = await import(pathToFileURL(flags).href);
    return [...v8Flags, join(tree, 'packages/hub/src/main.ts')];
  }
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'));
  return scripts.start.split(' ').slice(1);
}
