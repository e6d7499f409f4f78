/**
 * What node:sqlite can throw: errors with SQLite's result code in `errcode`, `ERR_INVALID_STATE` for a closed database, and
 * errors of wrong calls. The files beside the database add Node's system errors.
 */
import { HubError } from '@datahub/service-kit/call/error';
import { isSystemError } from '@datahub/service-kit/call/system-error';

/**
 * SQLite's primary result codes for faults of the file, the disk or the memory, not of the statement
 * (https://www.sqlite.org/rescode.html).
 */
const environmental = new Set([3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 22]);
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
  if (err instanceof HubError) return err;
  const code = primaryCode(err);
  if (code === undefined) return fromNode(err);
  if (code === constraint) {
    return new HubError('CONFLICT', 'A resource with this id or unique value exists already.', {
      cause: err,
    });
  }
  if (code === full) return unavailable('The store is full. The operator must free space.', err);
  if (environmental.has(code)) return unavailable('The store cannot be read or written now.', err);
  if (damaged.has(code))
    return new HubError('UNAVAILABLE', 'The store is damaged. The operator must restore a backup.', {
      cause: err,
      retryable: false,
    });
  return err;
}

/** The errors of an open store. It remembers that the file is damaged, which only a restart with a backup can change. */
export class StoreErrors {
  damage: unknown;

  from(err: unknown): unknown {
    const error = fromSqlite(err);
    if (damaged.has(primaryCode(err) ?? 0)) this.damage = error;
    return error;
  }
}

function fromNode(err: unknown): unknown {
  if (err instanceof Error && 'code' in err && err.code === 'ERR_INVALID_STATE')
    return unavailable('The store is closed.', err);
  return isSystemError(err) ? unavailable('The store cannot be read or written now.', err) : err;
}

export function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs: 1000 });
}
