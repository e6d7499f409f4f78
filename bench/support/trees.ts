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

const flagsOf = (tree: string) => join(tree, 'packages/service-kit/v8-flags.mjs');

/** True if the tree is from before the hub had a launcher. */
export const isOlder = (tree: string): boolean => !existsSync(flagsOf(tree));

/**
 * Node's arguments that start the hub of a tree in one process: V8's flags and the program. The process must run in the
 * tree. `npm start` of the tree names the program, and in an older tree both.
 */
export async function argumentsOf(tree: string): Promise<string[]> {
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'));
  const words: string[] = scripts.start.split(' ');
  if (isOlder(tree)) return words.slice(1);
  const { v8Flags } = await import(pathToFileURL(flagsOf(tree)).href);
  return [...v8Flags, join(tree, words.at(-1) as string)];
}
