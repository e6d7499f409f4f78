/**
 * `npm run datahub -- backup DIRECTORY`: copies the files of an embedded store into a directory. A running hub copies them
 * itself; otherwise this process does.
 */

import { mkdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { openDocumentStore } from '@datahub/document-store';
import { sendOperatorCommand } from '@datahub/service-kit/process/operator-socket';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { fileOf, findFiles, type StoreFile } from './store-files.ts';

export interface BackupOptions {
  directory: string;
  overwrite: boolean;
  /** Cancels the backup. */
  signal?: AbortSignal;
  /** Prints a line for the operator. */
  print: (line: string) => void;
}

const inMongodb = `The documents are in MongoDB. Copy them with its own tools while the hub runs:
    mongodump --uri="$DATAHUB_STORE_URL" --archive=FILE --gzip`;
const keysApart = `The backup does not contain the sealing keys: keep sealing-keys of the data directory, or the value of
DATAHUB_SEALING_PRIVATE_KEYS, in another place. Stored credentials cannot be opened without them.`;

/** Resolves with the paths of the written files. Rejects with a message for the operator. */
export async function takeBackup(env: Environment, options: BackupOptions): Promise<{ written: string[] }> {
  const { directory, print } = options;
  const { parts, present } = findFiles(env, inMongodb);
  await makeDirectory(directory);
  const written: string[] = [];
  for (const part of present) {
    try {
      written.push(await copyPart(part, options));
    } catch (err) {
      if (written.length > 0) print(`The backup is incomplete: it contains only ${written.join(', ')}.`);
      throw err;
    }
  }
  for (const absent of parts.filter((part) => !present.includes(part)))
    print(`There is no ${fileOf(absent)}, so it is not in the backup.`);
  print(keysApart);
  return { written };
}

/** Creates only the last directory of the path, so that a typo or an unmounted disk is noticed. */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new Error(`The parent directory of ${directory} does not exist.`, { cause: err });
    if (code !== 'EEXIST') throw new Error(message, { cause: err });
  }
}

async function copyPart(
  part: StoreFile,
  { directory, overwrite, print, signal }: BackupOptions,
): Promise<string> {
  const file = basename(fileOf(part));
  const path = join(resolve(directory), file);
  const onProgress = createProgress(file, print);
  const command = { action: 'backup', path, overwrite };
  const answer =
    part.operatorSocket === undefined
      ? undefined
      : await sendOperatorCommand(part.operatorSocket, command, {
          onProgress: (progress) => onProgress((progress as { share: number }).share),
          signal,
        });
  if (answer !== undefined) return path;
  const store = await openDocumentStore(part.storeUrl, []);
  try {
    await store.backup(path, { overwrite, onProgress, signal });
  } finally {
    await store.close();
  }
  return path;
}

const shareStep = 0.1;
const quietMs = 1_000;

/** Prints a line for each 10 %, after the first second. */
function createProgress(file: string, print: (line: string) => void): (share: number) => void {
  const startedAt = performance.now();
  let printed = 0;
  return (share) => {
    if (share - printed < shareStep || performance.now() - startedAt < quietMs) return;
    printed = share;
    print(`${file}: ${Math.floor(share * 100)} %`);
  };
}
