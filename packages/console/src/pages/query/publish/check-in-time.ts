/** The check of a draft with a deadline. */

import { Failure } from '../../../api/client.ts';
import { type Checked, type CheckedText, check } from '../../../state/check.ts';

const deadlineMs = 20_000;

/** Rejects with a Failure if the hub has not answered in time: its source may be slow or unreachable. */
export async function checkInTime(text: CheckedText | string, signal: AbortSignal): Promise<Checked> {
  const late = AbortSignal.timeout(deadlineMs);
  return check(text, AbortSignal.any([signal, late])).catch((err) => {
    if (!late.aborted || signal.aborted) throw err;
    const detail = `The hub did not check the text within ${deadlineMs / 1_000} seconds. Its source may be slow or unreachable.`;
    throw new Failure({ status: 504, title: 'No check', detail });
  });
}
