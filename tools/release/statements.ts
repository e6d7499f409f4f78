/** What a release states about its files: their checksums, and from what they were built. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Names } from './version.ts';

export const checksumsFile = 'SHA256SUMS';

export const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

const filesIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name !== checksumsFile)
    .sort();

/** As `sha256sum --check` reads them. */
export const checksumsOf = (folder: string) =>
  filesIn(folder)
    .map((name) => `${sha256(join(folder, name))}  ${name}\n`)
    .join('');

export interface Build {
  version: string;
  names: Names;
  commit: string;
  lockfile: string;
  startedOn: string;
}

/** An in-toto statement with a provenance of SLSA 1.0 about the files in the folder. It is not signed. */
export function provenanceOf(folder: string, { version, names, commit, lockfile, startedOn }: Build) {
  const source = `https://github.com/${names.repository}`;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: filesIn(folder).map((name) => ({ name, digest: { sha256: sha256(join(folder, name)) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${source}/blob/${commit}/tools/release.ts`,
        externalParameters: { version },
        resolvedDependencies: [
          { uri: `git+${source}@${commit}`, digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: sha256(lockfile) } },
        ],
      },
      runDetails: {
        builder: { id: `${source}/blob/${commit}/tools/release.ts#local` },
        metadata: { startedOn, finishedOn: new Date().toISOString() },
      },
    },
  };
}
