/** Makes a release of a copy of this tree, up to the tag. Root also builds and starts the images. */

import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHelm } from '../../tools/render-manifests.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isRoot = process.getuid?.() === 0;

describe.skipIf(findHelm(process.env) === undefined)('npm run release (needs Helm)', () => {
  let dir: string;
  let tree: string;
  const origin = () => join(dir, 'origin');
  const git = (cwd: string, ...args: string[]) => {
    const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    return execFileSync('git', [...author, ...args], { cwd, encoding: 'utf8' }).trim();
  };
  const commit = () => {
    git(tree, 'add', '--all');
    git(tree, 'commit', '--quiet', '--message', 'all');
  };
  const release = (...args: string[]) => {
    const identity = { GIT_COMMITTER_NAME: 'test', GIT_COMMITTER_EMAIL: 'test@example.com' };
    const images = isRoot ? [] : ['--without-images'];
    const command = ['run', '--silent', 'release', '--', ...args, ...images];
    return promisify(execFile)('npm', command, { cwd: tree, env: { ...process.env, ...identity } });
  };

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'datahub-release-'));
    tree = join(dir, 'tree');
    const files = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    for (const path of git(root, ...files)
      .split('\0')
      .filter(Boolean)) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      cpSync(join(root, path), join(tree, path), { verbatimSymlinks: true });
    }
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    git(dir, 'init', '--quiet', '--bare', 'origin');
    git(tree, 'init', '--quiet');
    git(tree, 'remote', 'add', 'origin', origin());
    commit();
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it('publishes nothing from a tree that is not ready', async () => {
    const refused = await release().catch((err) => err);
    expect(refused.stderr).toContain('deploy/release.json: fill in the placeholders.');
    expect(refused.stderr).toContain('CHANGELOG.md: the newest section is Unreleased');
    expect(git(origin(), 'tag')).toBe('');
  });

  it('builds and tries each file of a version, and pushes its tag', async () => {
    await release('--set', '7.8.9');
    const names = { repository: 'Example/hub', registry: 'registry.example/Example' };
    writeFileSync(join(tree, 'deploy/release.json'), JSON.stringify(names));
    expect((await release().catch((err) => err)).stderr).toBe(
      'The tree has changes that are not committed.\n',
    );
    commit();
    const { stdout } = await release();
    expect(stdout).toContain('with images of registry.example/example');
    if (isRoot) expect(stdout).toContain('the hub in one process answers');
    const files = join(tree, 'reports/release');
    expect(readdirSync(files).sort()).toEqual([
      'CHANGES.md',
      'SHA256SUMS',
      'data-hub-7.8.9-sbom.tar.gz',
      'data-hub-7.8.9.intoto.json',
      'data-hub-7.8.9.tgz',
      'datahub-cli-7.8.9.tgz',
      'datahub-client-7.8.9.tgz',
    ]);
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: files });
    const { predicate } = JSON.parse(readFileSync(join(files, 'data-hub-7.8.9.intoto.json'), 'utf8'));
    const [source] = predicate.buildDefinition.resolvedDependencies;
    expect(source.digest.gitCommit).toBe(git(tree, 'rev-parse', 'HEAD'));
    expect(git(origin(), 'rev-parse', 'v7.8.9^{commit}')).toBe(git(tree, 'rev-parse', 'HEAD'));
    expect((await release().catch((err) => err)).stderr).toBe('The tag v7.8.9 exists.\n');
  }, 1_200_000);
});
