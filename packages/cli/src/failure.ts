/** How a command fails: its message and its exit code. */

import type { Problem, ProblemError } from '@datahub/client';

/** A failure whose message says it all. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: { cause?: unknown }) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const exitCodes = {
  done: 0,
  failed: 1,
  changes: 2,
  breaking: 3,
  notFound: 4,
  conflict: 5,
  unavailable: 6,
  rejectedKey: 7,
  unknown: 8,
} as const;

export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'success; `plan`: no changes',
  failed: 'the input is wrong, the call failed, or the output could not be written',
  changes: '`plan`: there are changes, and none is known to break callers',
  breaking: '`plan`: there are changes that break callers',
  notFound: 'not found (404)',
  conflict: 'somebody else changed it (409, 412)',
  unavailable:
    'the hub or the database is not reachable or busy (429, 5xx), or the answer to a step of `apply` was lost; try again later',
  rejectedKey: 'the key is not valid (401) or not allowed to do this (403)',
  unknown:
    'the answer was lost, or is `OUTCOME_UNKNOWN`: a change may have been made, so look before you try again',
};

/** True if nobody knows whether the hub carried a command out. */
export const isUnknown = ({ status, code, retryable }: Problem): boolean =>
  code === 'OUTCOME_UNKNOWN' ||
  (retryable === false && (code === 'NO_ANSWER' || isOfProxy({ status, code })));

/** An answer without a code is not of the hub. These come from proxies that have sent the request on. */
export const isOfProxy = ({ status, code }: Problem): boolean =>
  code === undefined && (status >= 500 || status === 408 || status === 499);

export function exitCodeOf(problem: Problem): number {
  const { status } = problem;
  if (isUnknown(problem)) return exitCodes.unknown;
  if (status === 401 || status === 403) return exitCodes.rejectedKey;
  if (status === 404) return exitCodes.notFound;
  if (status === 409 || status === 412) return exitCodes.conflict;
  return status === 0 || status === 429 || status >= 500 ? exitCodes.unavailable : exitCodes.failed;
}

export function describeProblem({ problem, message, requestId }: ProblemError): string {
  const isLost = isUnknown(problem) && problem.code !== 'OUTCOME_UNKNOWN';
  if (isLost) return `${message} If this was a change, it may have been made: look before you try again.`;
  if (isOfProxy(problem)) return `Not the hub, but something before it answered: ${message}`;
  if (problem.status === 0) return `No hub answers: ${message} Set DATAHUB_URL, or run: datahub login`;
  const faults = problem.errors ?? [];
  const code = problem.code === undefined ? '' : `, ${problem.code}`;
  const at = requestId === undefined ? '' : `, request ${requestId}`;
  return [
    `The hub rejected the command: ${message} (${problem.status}${code}${at})`,
    ...faults.map(({ pointer = '', detail = '' }) => `  ${pointer} ${detail}`),
    // A plan cannot compare credentials, because the hub does not show them.
    ...(problem.code === 'SOURCE_AUTH' ? ['For files: datahub apply DIR --credentials'] : []),
  ].join('\n');
}
