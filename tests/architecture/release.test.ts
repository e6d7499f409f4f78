/** What a release needs of the tree. `release-files.test.ts` makes one. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checksumsFile, checksumsOf, provenanceOf, sha256 } from '../../tools/release/statements.ts';
import { newestChanges, otherVersions, setVersion, versionOf } from '../../tools/release/version.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'datahub-release-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('all files state the same version', () => expect(otherVersions(root)).toEqual([]));

it('owner and registry have placeholders in one file', () => {
  const shown = ['*.md', '*.json', '*.yml', '*.yaml', '*.ts'].map((name) => `:(glob)**/${name}`);
  const files = git('grep', '-lE', 'OWNER/|/OWNER', '--', ...shown, ':!tests', ':!**/dist/*');
  expect(files.trim().split('\n')).toEqual(['deploy/release.json']);
});

describe('a new version', () => {
  const paths = ['*package.json', '*package-lock.json', '*.md', 'deploy/*'];
  beforeEach(() => {
    for (const path of git('ls-files', '-z', '--', ...paths)
      .split('\0')
      .filter(Boolean)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      cpSync(join(root, path), join(dir, path));
    }
  });

  it('is set in all files that state it, and in no other place', () => {
    const last = versionOf(dir);
    setVersion(dir, '7.8.9');
    expect([versionOf(dir), newestChanges(dir).heading, otherVersions(dir)]).toEqual(['7.8.9', '7.8.9', []]);
    const changed = (path: string) => {
      const [before, after] = [root, dir].map((from) => readFileSync(join(from, path), 'utf8'));
      return [before?.replaceAll(last, '7.8.9'), after];
    };
    for (const path of [
      'docs/cli.md',
      'docs/kubernetes.md',
      'deploy/compose.yaml',
      'packages/cli/package.json',
    ]) {
      const [expected, after] = changed(path);
      expect(after).toBe(expected);
      expect(after).toContain('7.8.9');
    }
    const third = (from: string) =>
      Object.entries(JSON.parse(readFileSync(join(from, 'package-lock.json'), 'utf8')).packages).filter(
        ([path]) => path.includes('node_modules/'),
      );
    expect(third(dir)).toEqual(third(root));
  });

  it('is missed if a file states another one', () => {
    setVersion(dir, '7.8.9');
    for (const path of ['packages/client/package.json', 'deploy/k8s/chart/Chart.yaml']) {
      const text = readFileSync(join(dir, path), 'utf8');
      writeFileSync(join(dir, path), text.replace('7.8.9', '7.8.8'));
    }
    expect(otherVersions(dir)).toEqual([
      'packages/client/package.json is not version 7.8.9.',
      'deploy/k8s/chart/Chart.yaml: version is not 7.8.9.',
    ]);
  });
});

it('the statements name each file with its checksum', () => {
  for (const name of ['a.tgz', 'b.tgz']) writeFileSync(join(dir, name), name);
  const names = { repository: 'a/b', registry: 'r.example/a' };
  const commit = 'c'.repeat(40);
  const build = { version: '1.0.0', names, commit, lockfile: join(dir, 'a.tgz'), startedOn: '' };
  const { subject, predicate } = provenanceOf(dir, build);
  expect(subject).toEqual(
    ['a.tgz', 'b.tgz'].map((name) => ({ name, digest: { sha256: sha256(join(dir, name)) } })),
  );
  expect(predicate.buildDefinition.resolvedDependencies[0]).toEqual({
    uri: `git+https://github.com/a/b@${commit}`,
    digest: { gitCommit: commit },
  });
  writeFileSync(join(dir, checksumsFile), checksumsOf(dir));
  const check = () =>
    execFileSync('sha256sum', ['--check', '--strict', checksumsFile], { cwd: dir, stdio: 'pipe' });
  expect(check().toString()).toBe('a.tgz: OK\nb.tgz: OK\n');
  writeFileSync(join(dir, 'b.tgz'), 'forged');
  expect(check).toThrow();
});
