/**
 * Writes whose answer was lost. Each is guarded by an id or a version, so it may be sent once more; only when that gives
 * no answer either is the outcome unknown.
 */
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { isUnanswered } from './errors.ts';

/**
 * @param work the write; rejects as the store's port says
 * @param again sends it again and finds out what became of the first one; absent where that cannot be known
 */
export async function answered<R>(work: () => Promise<R>, again?: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (err) {
    if (!(err instanceof HubError) || !isUnanswered(err.cause)) throw err;
    if (again === undefined) throw outcomeUnknown(err);
  }
  try {
    return await again();
  } catch (err) {
    if (err instanceof HubError && err.code !== 'UNAVAILABLE') throw err;
    throw outcomeUnknown(err);
  }
}
