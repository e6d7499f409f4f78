/** The error of one step of a transaction. */

import { inStep } from '@datahub/contract/transactions';
import { HubError, toHubError } from '@datahub/service-kit/call/error';

/** The message of an error, which names its step if it has one. */
export const detailOf = ({ message, step }: HubError): string =>
  step === undefined ? message : inStep(step, message);

/** The same error with the index of its step. Faults in the context of the step are inside of the step. */
export function ofStep(err: unknown, step: number): HubError {
  const known = toHubError(err);
  if (known.step !== undefined) return known;
  const { code, message, cause, stage, retryable, sql, retryAfterMs, version, partial } = known;
  const errors = known.errors?.map(({ path, detail }) => ({ path: ['steps', step, ...path], detail }));
  return new HubError(code, message, {
    ...{ cause, stage, retryable, sql, retryAfterMs, version, partial, step },
    ...(errors === undefined ? {} : { errors }),
  });
}
