/**
 * Repeats writes whose answer was lost. An id or a version guards each, so it is safe to send it once more. The outcome is
 * unknown only if the repetition is not answered either.
 */
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { isUnanswered } from './errors.ts';

/**
 * @param work the write; rejects with the errors of the port
 * @param again sends it again and determines the outcome of the first one; absent if that is impossible
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
