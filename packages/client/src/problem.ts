/** The one error of the client. */

import type { Problem as HubProblem } from '../gen/routes.d.ts';

/** What the hub answered, or what went wrong on the way (status 0). */
export interface Problem extends Partial<Omit<HubProblem, 'code' | 'status'>> {
  status: number;
  /**
   * A code of the hub; `NO_ANSWER` if no hub answered, `TIMEOUT` if it took longer than `timeoutMs`, `CUT_SHORT` if the
   * answer broke off, `TOKEN_FAILED` if `token` failed. Absent if something other than a hub answered, such as a proxy.
   */
  code?: HubProblem['code'] | 'NO_ANSWER' | 'TIMEOUT' | 'CUT_SHORT' | 'TOKEN_FAILED';
}

/** `retryAfterMs` is from the header `Retry-After`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, options: { cause?: unknown; retryAfterMs?: number | undefined } = {}) {
    super(problem.detail ?? problem.title ?? `HTTP ${problem.status}`, { cause: options.cause });
    this.problem = problem;
    this.retryAfterMs = options.retryAfterMs;
  }

  get status(): number {
    return this.problem.status;
  }

  get code(): Problem['code'] {
    return this.problem.code;
  }

  get requestId(): string | undefined {
    return this.problem.requestId;
  }
}

/** Reads the body of a failure. A body that is no problem document leaves the status alone. */
export async function toProblemError(response: Response): Promise<ProblemError> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect') return new ProblemError(hiddenRedirect);
  const body: unknown = await response.json().catch(() => undefined);
  const problem = typeof body === 'object' && body !== null ? body : {};
  return new ProblemError({ ...problem, status }, { retryAfterMs: readRetryAfter(headers) });
}

/** Browsers hide everything of a redirect, its status included. */
const hiddenRedirect: Problem = {
  status: 0,
  code: 'NO_ANSWER',
  detail: 'The client follows no redirects.',
  retryable: false,
};

/** Seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
