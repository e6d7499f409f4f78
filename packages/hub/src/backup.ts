/**
 * `npm run datahub -- backup DIRECTORY`: the files of an embedded store copied into a directory, by the hub that has them
 * open, else from the files themselves.
 */

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { readCatalogConfig } from '@datahub/catalog/config';
import { openDocumentStore } from '@datahub/document-store';
import { readMlConfig } from '@datahub/ml/config';
import { sendOperatorCommand } from '@datahub/service-kit/process/operator-socket';
import { type Environment, readSettings } from '@datahub/service-kit/process/settings';

export interface BackupOptions {
  directory: string;
  overwrite: boolean;
  /** Breaks it off. */
  signal?: AbortSignal;
  /** A line for whoever waits. */
  say: (line: string) => void;
}

interface Part {
  storeUrl: string;
  operatorSocket?: string | undefined;
}

const inMongodb = `The documents are in MongoDB, which is copied with its own tools while the hub runs:
    mongodump --uri="$DATAHUB_STORE_URL" --archive=FILE --gzip`;
const keysApart = `The keys are not in it: keep sealing-keys of the data directory, or what is in
DATAHUB_SEALING_PRIVATE_KEYS, in another place. No stored credential can be opened without them.`;

/** The paths of what was written. Rejects with a message for the operator. */
export async function takeBackup(env: Environment, options: BackupOptions): Promise<{ written: string[] }> {
  const { directory, say } = options;
  const parts: Part[] = readSettings(env, (reader) => [readCatalogConfig(reader), readMlConfig(reader)]);
  if (parts.some(({ storeUrl }) => storeUrl.startsWith('mongodb'))) throw new Error(inMongodb);
  const present = parts.filter((part) => existsSync(fileOf(part)));
  if (present.length === 0) {
    const looked = parts.map(fileOf).join(' nor ');
    throw new Error(`There is neither ${looked}: DATAHUB_DATA_DIR or DATAHUB_STORE_URL says where they are.`);
  }
  await makeDirectory(directory);
  const written: string[] = [];
  for (const part of present) {
    try {
      written.push(await copyPart(part, options));
    } catch (err) {
      if (written.length > 0) say(`The backup is not whole: it has ${written.join(', ')} alone.`);
      throw err;
    }
  }
  for (const absent of parts.filter((part) => !present.includes(part)))
    say(`There is no ${fileOf(absent)}: it is not in the backup.`);
  say(keysApart);
  return { written };
}

const fileOf = ({ storeUrl }: Part) => storeUrl.slice('sqlite:'.length);

/** Its last part alone: a path that was mistyped, or a disk that is not mounted, should not go unseen. */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Error(`There is no directory above ${directory}.`, { cause: err });
    if (code !== 'EEXIST') throw new Error(message, { cause: err });
  }
}

async function copyPart(part: Part, { directory, overwrite, say, signal }: BackupOptions): Promise<string> {
  const file = basename(fileOf(part));
  const path = join(resolve(directory), file);
  const onProgress = createProgress(file, say);
  const asked = { action: 'backup', path, overwrite };
  const told =
    part.operatorSocket === undefined
      ? undefined
      : await sendOperatorCommand(part.operatorSocket, asked, {
          onProgress: (progress) => onProgress((progress as { share: number }).share),
          signal,
        });
  if (told !== undefined) return path;
  const store = await openDocumentStore(part.storeUrl, []);
  try {
    await store.backup(path, { overwrite, onProgress, signal });
  } finally {
    await store.close();
  }
  return path;
}

const sayEveryShare = 0.1;
const quietMs = 1_000;

/** A line for each tenth, where it takes longer than a moment. */
function createProgress(file: string, say: (line: string) => void): (share: number) => void {
  const startedAt = performance.now();
  let said = 0;
  return (share) => {
    if (share - said < sayEveryShare || performance.now() - startedAt < quietMs) return;
    said = share;
    say(`${file}: ${Math.floor(share * 100)} %`);
  };
}
