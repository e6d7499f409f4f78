import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  belowFloor,
  type Floors,
  installed,
  type Lockfile,
  leftOut,
  packagesOf,
} from '../../tools/lockfile.ts';
import { billOf, workspacesOf } from '../../tools/sbom.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const lockfile: Lockfile = read('package-lock.json');
const floors: Floors = read('deploy/floors.json');
const copy = (): Lockfile => structuredClone(lockfile);
const entry = (of: Lockfile, name: string) => of.packages[`node_modules/${name}`] as { version: string };

describe('the lockfile', () => {
  it('holds nothing below the floors', () => {
    expect(belowFloor(lockfile, floors)).toEqual([]);
  });

  it('is found if it does', () => {
    const low = copy();
    entry(low, 'mysql2').version = '3.23.0';
    entry(low, 'express').version = '4.17.1';
    expect(belowFloor(low, floors)).toEqual(['express 4.17.1 < 4.21.2', 'mysql2 3.23.0 < 3.23.1']);
  });

  it('has every floor for something that is installed', () => {
    const names = new Set(installed(lockfile).map(({ name }) => name));
    expect(Object.keys(floors).filter((name) => !names.has(name))).toEqual([]);
  });

  it('names exact versions with their sha512, from the registry alone', () => {
    const loose = installed(lockfile).filter(
      ({ version, integrity, resolved }) =>
        !/^\d+\.\d+\.\d+/.test(version) || !integrity?.startsWith('sha512-') || resolved !== undefined,
    );
    expect(loose).toEqual([]);
  });

  it('leaves out what only unused parts of Express Gateway need, and nothing else', async () => {
    const overrides: Record<string, string> = read('package.json').overrides['express-gateway'];
    const out = Object.keys(overrides).filter((name) => overrides[name] === 'file:../../packages/left-out');
    expect(out.filter((name) => !leftOut(lockfile, name))).toEqual([]);
    // In a process of its own, because other tests of this one load packages, too.
    const program = join(root, 'tools/edge-packages.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 60_000 });
    const loaded = new Set<string>(JSON.parse(stdout));
    const needed = Object.keys(read('node_modules/express-gateway/package.json').dependencies);
    const direct = needed.filter((name) => !loaded.has(name));
    expect(out.toSorted()).toEqual(direct.toSorted());
  });

  it.each(['passport', 'ioredis'])('says why %s is left out, if something uses it', (name) => {
    const found = createRequire(import.meta.url)(join(root, 'node_modules', name));
    expect(() => found.initialize).toThrow('This package is left out');
    expect(() => found()).toThrow('docs/adr/0005-edge.md');
    expect(() => new found()).toThrow('This package is left out');
  });

  it.each([
    ['gateway', 350],
    ['catalog', 150],
    ['executor', 150],
    ['ml', 150],
  ])('gives %s at most %i packages at run time', (service, most) => {
    const count = packagesOf(lockfile, `services/${service}`).size;
    expect(count).toBeGreaterThan(20);
    expect(count).toBeLessThanOrEqual(most);
  });

  it('makes a bill of materials that names each of them with its hash', () => {
    const workspaces = ['services/executor'];
    const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
    expect(workspacesOf(dockerfile, 'executor')).toEqual(workspaces);
    const { components } = billOf(lockfile, 'executor', workspaces);
    expect(components).toHaveLength(packagesOf(lockfile, ...workspaces).size);
    expect(components.find(({ name }) => name === 'mysql2')).toMatchObject({
      purl: expect.stringMatching(/^pkg:npm\/mysql2@\d+\.\d+\.\d+$/),
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    });
  });

  it('names what an image has besides: the command line in that of the catalog, and optional peers', () => {
    const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
    const workspaces = workspacesOf(dockerfile, 'catalog');
    const names = billOf(lockfile, 'catalog', workspaces).components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['yaml', 'graphql', 'socks']));
  });

  it('asks for exact versions', () => {
    const manifests = Object.keys(lockfile.packages).filter((path) => !path.includes('node_modules'));
    const loose = manifests.flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies } = read(join(path, 'package.json'));
      return Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
        .map(([name, version]) => `${path}: ${name}@${version}`);
    });
    expect(loose).toEqual([]);
  });

  it('runs no script of a package when it installs', () => {
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });
});

describe('lockfile-lint', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'datahub-lockfile-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const lint = (path: string) =>
    promisify(execFile)(process.execPath, [
      join(root, 'node_modules/lockfile-lint/bin/lockfile-lint.js'),
      ...[
        '--path',
        path,
        '--type',
        'npm',
        '--validate-https',
        '--validate-integrity',
        '--allowed-hosts',
        'npm',
      ],
    ]).then(
      () => 'passed',
      () => 'failed',
    );

  it('passes the lockfile, and fails one that takes a package from elsewhere', async () => {
    const forged = copy();
    Object.assign(entry(forged, 'pg'), { resolved: 'http://packages.example/pg.tgz' });
    const path = join(dir, 'package-lock.json');
    writeFileSync(path, JSON.stringify(forged));
    expect(await lint(join(root, 'package-lock.json'))).toBe('passed');
    expect(await lint(path)).toBe('failed');
  });
});
