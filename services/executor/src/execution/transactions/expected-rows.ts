/** The rows that a step may affect, and that it must return or affect. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Outcome } from '../../ports/engine.ts';
import type { RowFigures } from '../../result/response.ts';
import type { PlannedStep } from './plan.ts';

/** A limit cuts the rows of the answer, and never what is counted: a write is counted by the database. */
export function requireRows(
  { step, prepared }: PlannedStep,
  { affectedRows }: Outcome,
  answer: RowFigures,
): void {
  const isRead = prepared.kind === 'read';
  const { options, expectRows } = step;
  const rows = isRead ? answer.rowCount : (affectedRows ?? answer.rowCount);
  const { maxAffected } = options ?? {};
  if (!isRead && maxAffected !== undefined && rows > maxAffected)
    throw new HubError(
      'MAX_AFFECTED',
      `The step would affect ${rows} rows, and at most ${maxAffected} are allowed. Nothing was changed.`,
      { retryable: false },
    );
  const areMore = isRead && answer.truncated;
  if (expectRows === undefined || (rows === expectRows && !areMore)) return;
  const returned = areMore
    ? `returned more than the ${rows} rows that its limit allows`
    : `returned ${rows} rows`;
  throw new HubError(
    'ROWS_UNEXPECTED',
    `The step ${isRead ? returned : `affected ${rows} rows`}, and ${expectRows} were expected. Nothing was changed.`,
    { retryable: false },
  );
}
