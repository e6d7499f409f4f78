/** The operator's command to copy the store of a running process. */

import type { OperatorCall } from '@datahub/service-kit/process/operator-socket';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { DocumentStore } from './document-store.ts';

export interface BackupRequest {
  action: 'backup';
  /** The file to write, as a path of the process that has the store open. */
  path: string;
  overwrite: boolean;
}

const progressEveryMs = 1_000;

export function isBackupRequest(request: unknown): request is BackupRequest {
  const { action, path } = request as Partial<BackupRequest>;
  return action === 'backup' && typeof path === 'string';
}

/** Reports the copied share once a second, so that the client's timeout does not expire. */
export async function answerBackup(
  store: Pick<DocumentStore, 'backup'>,
  { path, overwrite }: BackupRequest,
  { onProgress, signal, logger }: OperatorCall & { logger: Logger },
): Promise<{ path: string }> {
  let share = 0;
  const startedAt = performance.now();
  const reporting = setInterval(() => onProgress({ share }), progressEveryMs);
  const update = (copied: number) => {
    share = copied;
  };
  try {
    await store.backup(path, { overwrite: overwrite === true, signal, onProgress: update });
  } catch (err) {
    logger.warn({ event: 'backup.failed', path, err }, 'a backup failed');
    throw err;
  } finally {
    clearInterval(reporting);
  }
  const durationMs = Math.round(performance.now() - startedAt);
  logger.info({ event: 'backup.done', path, durationMs }, 'the backup is complete');
  return { path };
}
