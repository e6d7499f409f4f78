/** The version of a release, which stands in many files, and what the changelog says about it. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Where a release goes. The values in the repository are placeholders. */
export interface Names {
  /** On GitHub, as in `owner/name`. */
  repository: string;
  /** The registry of the images and the chart, as in `ghcr.io/owner`. */
  registry: string;
}

const chartFile = 'deploy/k8s/chart/Chart.yaml';
const namesFile = 'deploy/release.json';
const unreleased = 'Unreleased';
/** Pages and files whose commands name a packed file or an image with its version. */
const withCommands = ['deploy/Dockerfile', 'deploy/compose.yaml', 'SECURITY.md'];

const readText = (root: string, path: string) => readFileSync(join(root, path), 'utf8');
const readJson = <T>(root: string, path: string) => JSON.parse(readText(root, path)) as T;
const toText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

export const versionOf = (root: string) => readJson<Required<Manifest>>(root, 'package.json').version;

export const namesOf = (root: string) => readJson<Names>(root, namesFile);

/** References of images have no capital letters. */
export const registryOf = (root: string) => namesOf(root).registry.toLowerCase();

export const hasPlaceholders = ({ repository, registry }: Names) =>
  [repository, registry].some((name) => name.includes('OWNER'));

const manifestsOf = (root: string) =>
  ['packages', 'services']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}/package.json`))
    .concat('package.json', 'proto/package.json')
    .filter((path) => existsSync(join(root, path)));

/** Files that state another version than package.json. */
export function otherVersions(root: string): string[] {
  const version = versionOf(root);
  const packages = manifestsOf(root)
    .filter((path) => readJson<Manifest>(root, path).version !== version)
    .map((path) => `${path} is not version ${version}.`);
  const chart = readText(root, chartFile);
  const fields = ['version', 'appVersion']
    .filter((field) => !chart.split('\n').includes(`${field}: ${version}`))
    .map((field) => `${chartFile}: ${field} is not ${version}.`);
  return [...packages, ...fields];
}

/** What CHANGELOG.md says about the newest version, and the heading of that section. */
export function newestChanges(root: string): { heading: string; text: string } {
  const [, section = ''] = readText(root, 'CHANGELOG.md').split(/^## /m);
  const end = section.indexOf('\n');
  return { heading: section.slice(0, end), text: section.slice(end).trim() };
}

/** Writes a version to all files that state it, and names the section of the changelog that had none. */
export function setVersion(root: string, next: string): void {
  const last = versionOf(root);
  const change = (path: string, toNext: (text: string) => string) =>
    writeFileSync(join(root, path), toNext(readText(root, path)));
  for (const path of manifestsOf(root)) change(path, (text) => toText(moved(JSON.parse(text), last, next)));
  change('package-lock.json', (text) => {
    const lockfile = JSON.parse(text);
    moved(lockfile, last, next);
    for (const [path, entry] of Object.entries<Manifest>(lockfile.packages))
      if (!path.includes('node_modules/')) moved(entry, last, next);
    return toText(lockfile);
  });
  change(chartFile, (text) => text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${next}`));
  change('CHANGELOG.md', (text) => text.replace(`\n## ${unreleased}\n`, `\n## ${next}\n`));
  const named = new RegExp(
    `((?:data-?hub[\\w-]*|\\$service)[-:])${last.replaceAll('.', '\\.')}(?![.\\d]*\\d)`,
    'g',
  );
  const pages = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  for (const path of [...withCommands, ...pages]) change(path, (text) => text.replaceAll(named, `$1${next}`));
}

/** The manifest with the next version of the project, also where it depends on the project's own packages. */
function moved(manifest: Manifest, last: string, next: string): Manifest {
  if (manifest.version === last) manifest.version = next;
  for (const group of [manifest.dependencies, manifest.devDependencies])
    for (const [name, version] of Object.entries(group ?? {}))
      if (group !== undefined && name.startsWith('@datahub/') && version === last) group[name] = next;
  return manifest;
}
