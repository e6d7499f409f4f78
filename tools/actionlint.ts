/**
 * actionlint, which checks .github/workflows.
 *
 *     node tools/actionlint.ts   builds it once with Go for the tests, unless it is installed
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from './cache.ts';
import { findCommand } from './databases/process.ts';

const version = 'v1.7.7';
const built = join(cacheDir, 'actionlint', version);

/** The path of an installed actionlint, else undefined. Builds nothing. */
export function findActionlint(): string | undefined {
  const program = join(built, 'actionlint');
  return findCommand('actionlint') ?? (existsSync(program) ? program : undefined);
}

/** False if Go or its module proxy is not available. */
function build(env: NodeJS.ProcessEnv): boolean {
  mkdirSync(built, { recursive: true });
  const args = ['install', `github.com/rhysd/actionlint/cmd/actionlint@${version}`];
  const { status } = spawnSync('go', args, {
    env: { ...env, GOBIN: built },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && findActionlint() === undefined)
  process.exitCode = build(process.env) ? 0 : 1;
