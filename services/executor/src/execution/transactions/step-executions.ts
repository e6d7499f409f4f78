/**
 * The executions of the steps of a call. What became of a step is known when its transaction has ended, so that all of them
 * are told then, once: a repeated attempt leaves nothing.
 */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { CallForm, type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import { Execution } from '../execution-state.ts';
import { noOptions, type Plan, type PlannedStep } from './plan.ts';

export interface StepEvents {
  executed(execution: Execution): void;
  failed(execution: Execution, err: HubError): void;
}

interface StepDeps {
  events: StepEvents;
  tracing?: Tracing | undefined;
  now: () => number;
}

interface Begun {
  ctx: CallContext;
  reply: ExecutionReply;
  /** True for the step whose answer is that of the call. */
  isAnswer: boolean;
}

export class StepExecutions {
  readonly #plan: Plan;
  readonly #request: ExecuteRequest;
  readonly #deps: StepDeps;
  readonly #begun = new Map<PlannedStep, Execution>();
  readonly #endedAt = new Map<PlannedStep, number>();

  constructor(plan: Plan, request: ExecuteRequest, deps: StepDeps) {
    this.#plan = plan;
    this.#request = request;
    this.#deps = deps;
  }

  begin(planned: PlannedStep, begun: Begun): Execution {
    const execution = this.#create(planned, begun, this.#deps.tracing);
    this.#begun.set(planned, execution);
    return execution;
  }

  /** The time until the transaction ends is not that of the step, and its values are not held so long. */
  end(planned: PlannedStep): void {
    this.#endedAt.set(planned, this.#deps.now());
    const execution = this.#begun.get(planned);
    if (execution?.statement !== undefined) execution.statement = { ...execution.statement, params: [] };
  }

  /** Before an attempt that repeats the whole because of this error. */
  forget(err: unknown): void {
    for (const { span } of this.#begun.values()) span?.end({ error: toHubError(err).code });
    this.#begun.clear();
    this.#endedAt.clear();
  }

  /** The source has committed, or rolled back a dry run, and the call was answered. */
  executed(): void {
    for (const execution of this.#begun.values()) this.#deps.events.executed(execution);
  }

  /** The steps that were not reached fail with the others. */
  failed(err: unknown, ctx: CallContext): void {
    const failure = toHubError(err);
    const { code, message } = failure;
    // The fault at the source is that of one step.
    const undone = failure.step === undefined ? failure : new HubError(code, message);
    for (const [i, planned] of this.#plan.steps.entries()) {
      const execution = this.#begun.get(planned) ?? this.#unreached(planned, ctx);
      this.#deps.events.failed(execution, i === failure.step ? failure : undone);
    }
  }

  #unreached(planned: PlannedStep, ctx: CallContext): Execution {
    return this.#create(planned, { ctx, reply: noReply, isAnswer: false }, undefined);
  }

  #create(planned: PlannedStep, { ctx, reply, isAnswer }: Begun, tracing: Tracing | undefined): Execution {
    const now = () => this.#endedAt.get(planned) ?? this.#deps.now();
    const request = toRequest(planned, this.#request, isAnswer);
    const execution = new Execution(request, ctx, { reply, now, tracing });
    execution.stage = 'prepare';
    execution.onPrepared(planned.query, planned.prepared, planned.timeoutMs);
    return execution;
  }
}

const noReply: ExecutionReply = { chunk: () => true, onDrain: () => {} };

/** A step as an execution of its own, for the figures of its query. */
function toRequest(
  { step, query }: PlannedStep,
  { fromConsole, format, options }: ExecuteRequest,
  isAnswer: boolean,
): ExecuteRequest {
  return {
    queryId: query.queryId,
    contextJson: step.contextJson,
    options: options?.dryRun ? { ...noOptions, ...step.options, dryRun: true } : step.options,
    format: isAnswer ? format : Format.FORMAT_JSON,
    fromConsole,
    callForm: CallForm.CALL_FORM_TRANSACTION,
  };
}
