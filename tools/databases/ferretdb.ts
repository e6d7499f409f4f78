/** A MongoDB-wire server built from the Go module proxy, once per version of its source. */

import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StartedDatabase } from './postgres.ts';
import { findCommand, run, startServer } from './process.ts';

const sourceDir = fileURLToPath(new URL('../ferretdb/', import.meta.url));
const oldestGo = [1, 24] as const;

/** True if Go is installed. */
export async function canBuildFerretdb(): Promise<boolean> {
  if (findCommand('go') === undefined) return false;
  const version = /go(\d+)\.(\d+)/.exec(await run('go', ['env', 'GOVERSION'], { env: goEnv() })) ?? [];
  const [major, minor] = [Number(version[1]), Number(version[2])];
  return major > oldestGo[0] || (major === oldestGo[0] && minor >= oldestGo[1]);
}

/** Go must not download another toolchain. */
function goEnv(): NodeJS.ProcessEnv {
  return { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' };
}

/** The path of the program, which is built if it is missing. */
export async function buildFerretdb(cacheDir: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(sourceDir)).sort()) hash.update(await readFile(join(sourceDir, name)));
  const program = join(cacheDir, `ferretdb-${hash.digest('hex').slice(0, 16)}`);
  const there = await access(program).then(
    () => true,
    () => false,
  );
  if (there) return program;
  await mkdir(cacheDir, { recursive: true });
  const draft = `${program}.${process.pid}`;
  await run('nice', ['go', 'build', '-o', draft, '.'], { cwd: sourceDir, env: goEnv() });
  await rename(draft, program);
  return program;
}

export async function startFerretdb(
  program: string,
  options: { dir: string; port: number },
): Promise<StartedDatabase> {
  const data = join(options.dir, 'ferretdb');
  await mkdir(data, { recursive: true });
  const server = await startServer({
    command: program,
    args: [`127.0.0.1:${options.port}`, data],
    port: options.port,
    timeoutMs: 30_000,
    // It collects garbage less often: a quarter less CPU for 90 MB.
    env: { ...process.env, GOGC: '400' },
  });
  return { ...server, url: `mongodb://127.0.0.1:${options.port}/` };
}
