/** What an operator asks a process for that holds a store: a copy of it. */

import type { Asking } from '@datahub/service-kit/process/operator-socket';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { DocumentStore } from './document-store.ts';

export interface BackupRequest {
  action: 'backup';
  /** A file, as the process that holds the store names it. */
  path: string;
  overwrite: boolean;
}

const tellEveryMs = 1_000;

export function isBackupRequest(asked: unknown): asked is BackupRequest {
  const { action, path } = asked as Partial<BackupRequest>;
  return action === 'backup' && typeof path === 'string';
}

/** Tells once a second how much is done, so that whoever asked knows that it goes on. */
export async function answerBackup(
  store: Pick<DocumentStore, 'backup'>,
  { path, overwrite }: BackupRequest,
  { tell, signal, logger }: Asking & { logger: Logger },
): Promise<{ path: string }> {
  let share = 0;
  const startedAt = performance.now();
  const telling = setInterval(() => tell({ share }), tellEveryMs);
  const onProgress = (now: number) => {
    share = now;
  };
  try {
    await store.backup(path, { overwrite: overwrite === true, signal, onProgress });
  } catch (err) {
    logger.warn({ event: 'backup.failed', path, err }, 'a backup failed');
    throw err;
  } finally {
    clearInterval(telling);
  }
  const durationMs = Math.round(performance.now() - startedAt);
  logger.info({ event: 'backup.done', path, durationMs }, 'the store was copied');
  return { path };
}
