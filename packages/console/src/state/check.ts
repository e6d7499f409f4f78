/** The hub's check of a text that is not stored: its faults, its columns, and what it changes for callers. */

import { callJson } from '../api/client.ts';
import type { Answer, QueryVersion, Variable } from '../api/types.ts';

export type Checked = Answer<'POST /v1/queries/check'>;
export type ContractChange = NonNullable<Checked['changes']>[number];
/** The rows of the text against those of the stored query. */
export type RowDifference = NonNullable<Checked['diff']>;

export interface CheckedText {
  sourceId: string;
  query: string;
  command?: string | undefined;
  context: Variable[];
  notNull?: string[];
  session?: QueryVersion['session'];
  steps?: QueryVersion['steps'];
  /** The stored query whose callers would get the new text. */
  compareTo?: string;
}

export const check = (text: CheckedText | string, signal?: AbortSignal): Promise<Checked> =>
  callJson<Checked>('v1/queries/check', { body: text, signal, reads: true });

const errorsMs = 10_000;

/**
 * The errors of a text that is about to be saved. Resolves to none if the hub cannot tell in time, because the source is
 * unreachable or the key may not check.
 */
export async function errorsIn(text: CheckedText): Promise<Checked['problems']> {
  const checked = await check(text, AbortSignal.timeout(errorsMs)).catch(() => undefined);
  return checked?.problems.filter(({ severity }) => severity === 'error') ?? [];
}
