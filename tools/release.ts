/**
 * Makes a release.
 *
 *     npm run release -- --set 0.2.0   writes the version to all files that state it
 *     npm run release -- --check       fails if the version, the changelog or deploy/release.json is not ready
 *     npm run release -- --dry-run     builds and tries everything, and publishes nothing
 *     npm run release                  the same from a committed tree that is ready, then pushes the tag
 *
 * The tag starts .github/workflows/release.yml, which builds, signs and publishes. The files are written to reports/release,
 * or to the folder that `--to` names. Root builds and starts the images, too; `--without-images` leaves them out.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { tryImages } from '../deploy/stage-image.ts';
import { type Parts, packBills, packChart, packPackages } from './release/files.ts';
import { checksumsFile, checksumsOf, provenanceOf } from './release/statements.ts';
import {
  hasPlaceholders,
  namesOf,
  newestChanges,
  otherVersions,
  registryOf,
  setVersion,
  versionOf,
} from './release/version.ts';
import { buildHelm, findHelm, manifestsFile, renderManifests } from './render-manifests.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line: string) => process.stdout.write(`${line}\n`);
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

function needHelm(): string {
  const helm = findHelm(process.env) ?? buildHelm(process.env);
  if (helm === undefined)
    throw new Error('Neither Helm nor Go, which can build it, is installed. Install one.');
  return helm;
}

/** What is missing before this tree can be published. */
function missing(): string[] {
  const version = versionOf(root);
  const { heading, text } = newestChanges(root);
  return [
    ...(hasPlaceholders(namesOf(root)) ? ['deploy/release.json: fill in the placeholders.'] : []),
    ...(heading !== version ? [`CHANGELOG.md: the newest section is ${heading}, not ${version}.`] : []),
    ...(text === '' ? [`CHANGELOG.md: the section ${heading} is empty.`] : []),
  ];
}

const missingInGit = (tag: string) => [
  ...(git('status', '--porcelain') === '' ? [] : ['The tree has changes that are not committed.']),
  ...(git('tag', '--list', tag) === '' ? [] : [`The tag ${tag} exists.`]),
];

function stopIf(problems: string[]): void {
  if (problems.length === 0) return;
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

/** Builds all files of the release in an empty folder, tries them, and states what they are. */
async function build(folder: string, withImages: boolean): Promise<void> {
  const startedOn = new Date().toISOString();
  const [version, names, commit] = [versionOf(root), namesOf(root), git('rev-parse', 'HEAD')];
  const parts: Parts = { root, folder, version, registry: registryOf(root), log: say };
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, checksumsFile)))
    throw new Error(`${folder} has other files than those of a release.`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  packPackages(parts);
  packChart(parts, needHelm());
  packBills(parts);
  writeFileSync(join(folder, 'CHANGES.md'), `${newestChanges(root).text}\n`);
  if (withImages) await tryImages(say);
  const lockfile = join(root, 'package-lock.json');
  const provenance = provenanceOf(folder, { version, names, commit, lockfile, startedOn });
  const statement = `data-hub-${version}.intoto.json`;
  writeFileSync(join(folder, statement), `${JSON.stringify(provenance, null, 2)}\n`);
  writeFileSync(join(folder, checksumsFile), checksumsOf(folder));
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', checksumsFile], { cwd: folder });
  for (const name of readdirSync(folder))
    say(`${String(statSync(join(folder, name)).size).padStart(9)}  ${name}`);
}

const { values } = parseArgs({
  options: {
    set: { type: 'string' },
    check: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    'without-images': { type: 'boolean' },
    to: { type: 'string', default: 'reports/release' },
  },
});
const tag = `v${versionOf(root)}`;
if (values.set !== undefined) {
  if (!/^\d+\.\d+\.\d+$/.test(values.set)) stopIf([`${values.set} is not a version such as 0.2.0.`]);
  setVersion(root, values.set);
  writeFileSync(manifestsFile, renderManifests(needHelm()));
} else if (values.check === true) {
  stopIf([...otherVersions(root), ...missing()]);
  // As lines that a workflow adds to its outputs.
  const { repository } = namesOf(root);
  const registry = registryOf(root);
  const host = registry.split('/')[0];
  say(`version=${versionOf(root)}\nrepository=${repository}\nregistry=${registry}\nhost=${host}`);
} else {
  const isDry = values['dry-run'] === true;
  const later = [...missing(), ...missingInGit(tag)];
  stopIf([...otherVersions(root), ...(isDry ? [] : later)]);
  await build(resolve(values.to), values['without-images'] !== true);
  for (const problem of later) say(`before the release: ${problem}`);
  if (isDry) say(`${tag} was built and tried. Nothing was published.`);
  else {
    git('tag', '--annotate', tag, '--message', `Data Hub ${versionOf(root)}`);
    git('push', 'origin', `refs/tags/${tag}`);
    say(`The tag ${tag} was pushed. The workflow signs and publishes the release.`);
  }
}
