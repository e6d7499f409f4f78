/**
 * `npm run datahub -- backup DIRECTORY`: copies the files of an embedded store into a directory. A running hub copies them
 * itself; otherwise this process does.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { openDocumentStore } from '@datahub/document-store';
import { requireAbsent, syncDirectory } from '@datahub/document-store/sqlite/backup';
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

/**
 * Resolves with the paths of the written files, which get their names once all of them are complete. Rejects with a message
 * for the operator.
 */
export async function takeBackup(env: Environment, options: BackupOptions): Promise<{ written: string[] }> {
  const { directory, overwrite, print, signal } = options;
  const { parts, present } = findFiles(env, inMongodb);
  await makeDirectory(directory);
  const copies = present.map((part) => {
    const path = join(resolve(directory), basename(fileOf(part)));
    return { part, path, draft: `${path}.new` };
  });
  const written = copies.map(({ path }) => path);
  for (const path of written) requireAbsent(path, overwrite);
  const drafts: string[] = [];
  try {
    for (const { part, draft } of copies) {
      await copyPart(part, draft, options);
      drafts.push(draft);
      if (signal?.aborted) throw new Error('The command was cancelled.');
    }
    for (const { path, draft } of copies) await rename(draft, path);
    await syncDirectory(written[0] as string);
  } catch (err) {
    for (const draft of drafts) await rm(draft, { force: true });
    throw err;
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
  path: string,
  { overwrite, print, signal }: BackupOptions,
): Promise<void> {
  const onProgress = createProgress(basename(fileOf(part)), print);
  const command = { action: 'backup', path, overwrite };
  const answer =
    part.operatorSocket === undefined
      ? undefined
      : await sendOperatorCommand(part.operatorSocket, command, {
          onProgress: (progress) => onProgress((progress as { share: number }).share),
          signal,
        });
  if (answer !== undefined) return;
  const store = await openDocumentStore(part.storeUrl, []);
  try {
    await store.backup(path, { overwrite, onProgress, signal });
  } finally {
    await store.close();
  }
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
