/** Builds the files of a release, and tries each as its users do. */

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chart, renderChart } from '../render-manifests.ts';

export interface Parts {
  root: string;
  /** Where the files go. */
  folder: string;
  version: string;
  /** Of the images that the chart names. */
  registry: string;
  log(line: string): void;
}

/** Files are not run in the project, whose modules they would find. */
function inTemporaryFolder<T>(use: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'data-hub-release-'));
  try {
    return use(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const run = (program: string, args: string[], cwd: string) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** Packs the packages that programs elsewhere install: those with a list of files. */
export function packPackages({ root, folder, version, log }: Parts): void {
  const packages = readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((path) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).files !== undefined);
  for (const path of packages) {
    run('npm', ['run', 'build', '--if-present', '--silent', '-w', path], root);
    run('npm', ['pack', '--silent', '--pack-destination', folder, '-w', path], root);
  }
  inTemporaryFolder((dir) => {
    const files = readdirSync(folder).filter((name) => name.startsWith('datahub-'));
    const install = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    writeFileSync(join(dir, 'package.json'), '{"private": true}');
    run('npm', [...install, ...files.map((name) => join(folder, name))], dir);
    const help = run(join(dir, 'node_modules/.bin/datahub'), ['--help'], dir);
    if (!help.includes('datahub')) throw new Error(`The command line printed:\n${help}`);
    const program = `import('@datahub/client').then((all) => process.stdout.write(typeof all.createClient))`;
    const kind = run(process.execPath, ['--eval', program], dir);
    if (kind !== 'function') throw new Error(`The client exports no createClient, but ${kind}.`);
    log(`${files.join(' and ')} install without a registry, and run`);
  });
  if (!existsSync(join(folder, `datahub-cli-${version}.tgz`)))
    throw new Error('The command line is missing.');
}

/** Packs the chart, whose images come from the registry of the release. */
export function packChart({ root, folder, version, registry, log }: Parts, helm: string): void {
  inTemporaryFolder((dir) => {
    const copy = join(dir, 'data-hub');
    // Some of its files are links into the repository.
    run('cp', ['-RL', chart, copy], dir);
    const values = join(copy, 'values.yaml');
    const text = readFileSync(values, 'utf8');
    const registered = text.replace(/^( {2}repository: )data-hub$/m, `$1${registry}/data-hub`);
    if (registered === text) throw new Error('values.yaml has no line with the repository of the images.');
    writeFileSync(values, registered);
    run(
      helm,
      ['lint', '--strict', '--quiet', copy, '--values', join(root, 'deploy/k8s/manifests-values.yaml')],
      dir,
    );
    run(helm, ['package', copy, '--destination', folder], dir);
  });
  const file = join(folder, `data-hub-${version}.tgz`);
  const objects = renderChart({ helm, from: file, values: [join(root, 'deploy/k8s/manifests-values.yaml')] });
  const images = [...objects.matchAll(/image: "?([^"\n]*)/g)].map(([, image = '']) => image);
  const expected = `${registry}/data-hub-`;
  const others = images.filter((image) => !image.startsWith(expected) || !image.endsWith(`:${version}`));
  if (images.length === 0 || others.length > 0) throw new Error(`The chart names the images ${others}.`);
  log(`data-hub-${version}.tgz renders, with images of ${registry}`);
}

/** Packs a bill of materials for each service. */
export function packBills({ root, folder, version, log }: Parts): void {
  inTemporaryFolder((dir) => {
    mkdirSync(join(dir, 'sbom'));
    run(process.execPath, [join(root, 'tools/sbom.ts'), join(dir, 'sbom')], root);
    const names = readdirSync(join(dir, 'sbom')).sort();
    for (const name of names) {
      const { components } = JSON.parse(readFileSync(join(dir, 'sbom', name), 'utf8'));
      log(`${name} names ${components.length} packages`);
    }
    run(
      'tar',
      ['-czf', join(folder, `data-hub-${version}-sbom.tar.gz`), '-C', join(dir, 'sbom'), ...names],
      root,
    );
  });
}
