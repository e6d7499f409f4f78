/** Copies an embedded store while it serves, to one complete file that only its owner can read. */

import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, type DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { HubError } from '@datahub/service-kit/call/error';
import type { BackupOptions } from '../document-store.ts';
import { unavailable } from './errors.ts';
import { pragma } from './schema.ts';

/** A step blocks the store: 1 MiB takes a few milliseconds. */
const pagesPerStep = 256;
const inMebibytes = (bytes: number) => `${Math.ceil(bytes / 1_048_576)} MiB`;

/** The copy contains everything that is committed before it completes. */
export async function copySqliteFile(db: DatabaseSync, path: string, options: BackupOptions): Promise<void> {
  requireAbsent(path, options.overwrite === true);
  const partial = `${path}.partial`;
  if (options.overwrite) await rm(partial, { force: true });
  const file = await createFile(partial);
  try {
    await requireSpace(db, path);
    await copy({ db, partial, file, options });
    await requireIntact(partial, options.signal);
    requireAbsent(path, options.overwrite === true);
    await rename(partial, path);
    await syncDirectory(path);
  } catch (err) {
    await removePartial(partial);
    throw toFault(err, path);
  } finally {
    await file.close();
  }
}

/** Throws CONFLICT for a file that may not be replaced. */
export function requireAbsent(path: string, overwrite: boolean): void {
  // SQLite would apply the log of an older file to the new one.
  const used = [`${path}-wal`, `${path}-journal`].find((one) => existsSync(one));
  if (used !== undefined) {
    throw new HubError(
      'CONFLICT',
      `${used} exists: a hub uses or used this directory. Name another directory.`,
    );
  }
  if (!overwrite && existsSync(path)) {
    throw new HubError('CONFLICT', `${path} exists already. Name another directory, or overwrite it.`);
  }
}

async function createFile(partial: string): Promise<FileHandle> {
  try {
    return await open(partial, 'wx', 0o600);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      const message = `${partial} exists: a backup is running, or was interrupted. Remove the file, or overwrite it.`;
      throw new HubError('CONFLICT', message, { cause: err });
    }
    if (code === 'ENOENT') throw unavailable(`The directory ${dirname(partial)} does not exist.`, err);
    throw toFault(err, partial);
  }
}

export async function requireSpace(db: DatabaseSync, path: string): Promise<void> {
  const needed = pragma(db, 'page_count') * pragma(db, 'page_size');
  const { bavail, bsize } = await statfs(dirname(path));
  if (bavail * bsize >= needed) return;
  throw unavailable(
    `The copy needs ${inMebibytes(needed)}, but only ${inMebibytes(bavail * bsize)} are free in ${dirname(path)}.`,
  );
}

interface Copying {
  db: DatabaseSync;
  partial: string;
  file: FileHandle;
  options: BackupOptions;
}

/**
 * SQLite syncs the whole copy in its last step, which blocks the store. So the file is synced on the thread pool while it is
 * written, and little is left for that step: 30 ms for 600 MB instead of half a second.
 */
async function copy({ db, partial, file, options }: Copying): Promise<void> {
  const { signal, onProgress = () => {} } = options;
  let syncing: Promise<void> | undefined;
  let syncFailure: unknown;
  const syncMeanwhile = () => {
    syncing ??= file.datasync().then(
      () => {
        syncing = undefined;
      },
      (err) => {
        syncFailure = err;
      },
    );
  };
  const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }) => {
    // Throwing here is the only way to cancel the copy.
    signal?.throwIfAborted();
    if (syncFailure !== undefined) throw syncFailure;
    syncMeanwhile();
    onProgress((totalPages - remainingPages) / totalPages);
  };
  signal?.throwIfAborted();
  try {
    await copyAgainWhileBusy(() => backup(db, partial, { rate: pagesPerStep, progress }));
  } finally {
    await syncing;
  }
  // A second sync would succeed without what the first one lost.
  if (syncFailure !== undefined) throw syncFailure;
  await file.datasync();
}

/** Throws UNAVAILABLE for a damaged copy, so that it does not replace an older one that can be restored. */
async function requireIntact(copied: string, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const worker = new Worker(new URL('./integrity-worker.ts', import.meta.url), { workerData: copied });
  const stop = () => void worker.terminate();
  signal?.addEventListener('abort', stop);
  try {
    const found = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(signal?.reason ?? new Error('The check of the copy ended early.')));
    });
    if (found === 'ok') return;
    const message = 'The store is damaged. No backup was made: restore an older one.';
    throw unavailable(message, new Error(String(found)));
  } finally {
    signal?.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

/** Of twenty copies beside writes, one begins or ends at a moment when the store is busy. */
const copiesMax = 10;

/** A step that finds the store busy while no page is left, before the first or after the last, fails as "not an error". */
async function copyAgainWhileBusy(copyOnce: () => Promise<unknown>): Promise<void> {
  for (let copies = 1; ; copies++) {
    try {
      await copyOnce();
      return;
    } catch (err) {
      if ((err as { errcode?: number }).errcode !== 0 || copies >= copiesMax) throw err;
    }
  }
}

/** Syncs the directory, so that the new name is on disk. Windows cannot do this. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(dirname(path), 'r');
  await directory.sync().finally(() => directory.close());
}

async function removePartial(partial: string): Promise<void> {
  await rm(`${partial}-journal`, { force: true });
  await rm(partial, { force: true });
}

const sqliteFull = 13;

function toFault(err: unknown, path: string): HubError {
  if (err instanceof HubError) return err;
  const { message, code, errcode, name } = err as NodeJS.ErrnoException & { errcode?: number };
  if (name === 'AbortError') return unavailable('The backup was cancelled.', err);
  if (code === 'ENOSPC' || (errcode ?? 0) % 256 === sqliteFull) {
    return unavailable(`There is not enough space for the backup in ${dirname(path)}.`, err);
  }
  return unavailable(`The backup could not be written to ${path}: ${message}`, err);
}
