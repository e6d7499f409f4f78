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
export declare class ProblemError extends Error {
    readonly name = "ProblemError";
    readonly problem: Problem;
    readonly retryAfterMs: number | undefined;
    constructor(problem: Problem, options?: {
        cause?: unknown;
        retryAfterMs?: number | undefined;
    });
    get status(): number;
    get code(): Problem['code'];
    get requestId(): string | undefined;
}
/** Reads the body of a failure. A body that is no problem document leaves the status alone. */
export declare function toProblemError(response: Response): Promise<ProblemError>;
