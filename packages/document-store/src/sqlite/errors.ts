import { HubError } from '@datahub/service-kit/call/error';

/** SQLite's primary result codes for faults of the file or the disk, not of the statement. */
const environmental = new Set([5, 6, 7, 8, 10, 13, 14]);
const constraint = 19;
const full = 13;
const damaged = new Set([11, 26]);

/** The primary result code, or undefined for an error that is not SQLite's. */
function primaryCode(err: unknown): number | undefined {
  if (!(err instanceof Error) || !('errcode' in err) || typeof err.errcode !== 'number') return undefined;
  return err.errcode & 0xff;
}

export function isConstraint(err: unknown): boolean {
  return primaryCode(err) === constraint;
}

export function isLocked(err: unknown): boolean {
  const code = primaryCode(err);
  return code === 5 || code === 6;
}

/** SQLite's messages contain table names and paths, so they stay in `cause`. */
export function fromSqlite(err: unknown): unknown {
  const code = primaryCode(err);
  if (code === undefined || err instanceof HubError) return err;
  if (code === constraint) {
    return new HubError('CONFLICT', 'A resource with this id or unique value exists already.', {
      cause: err,
    });
  }
  if (code === full) return unavailable('The store is full. The operator must free space.', err);
  if (environmental.has(code)) return unavailable('The store cannot be read or written now.', err);
  if (damaged.has(code)) return unavailable('The store is damaged. The operator must restore a backup.', err);
  return err;
}

export function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs: 1000 });
}
