import { CallForm, type ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import type { Execution } from '../../../src/execution/execution-state.ts';
import { LostCommit } from '../../../src/execution/transactions/lost-commit.ts';
import type { Plan, PlannedStep } from '../../../src/execution/transactions/plan.ts';
import { ofStep } from '../../../src/execution/transactions/step-error.ts';
import { StepExecutions } from '../../../src/execution/transactions/step-executions.ts';

const stepOf = (queryId: string) =>
  ({ step: { queryId, contextJson: '{}' }, query: { queryId }, prepared: {}, timeoutMs: 9 }) as PlannedStep;
const ctx = createCallContext({ timeoutMs: 9 });
const begun = { ctx, reply: { chunk: () => true, onDrain: () => {} }, isAnswer: false };

function setup() {
  const planned = ['a', 'b', 'c'].map(stepOf);
  const clock = { now: 5 };
  const told: unknown[][] = [];
  const of = ({ request, now }: Execution) => [request.queryId, now()];
  const steps = new StepExecutions({ steps: planned } as Plan, { queryId: '' } as ExecuteRequest, {
    now: () => clock.now,
    events: {
      executed: (execution) => told.push([...of(execution), 'ok', execution.request.callForm]),
      failed: (execution, { code, sql }) => told.push([...of(execution), code, sql?.state]),
    },
  });
  const run = (count: number) => {
    for (const step of planned.slice(0, count)) {
      clock.now++;
      steps.begin(step, begun);
      steps.end(step);
    }
    clock.now = 99;
  };
  return { steps, run, told };
}

it('the steps of a transaction are told at its end, with the times of their own ends', () => {
  const { steps, run, told } = setup();
  run(3);
  expect(told).toEqual([]);
  steps.executed();
  const form = CallForm.CALL_FORM_TRANSACTION;
  expect(told).toEqual([
    ['a', 6, 'ok', form],
    ['b', 7, 'ok', form],
    ['c', 8, 'ok', form],
  ]);
});

it('all steps fail with the code of the one that failed, which alone has its fault', () => {
  const { steps, run, told } = setup();
  run(2);
  steps.failed(ofStep(new HubError('SQL_REJECTED', 'no', { sql: { state: '22012' } }), 1), ctx);
  expect(told).toEqual([
    ['a', 6, 'SQL_REJECTED', undefined],
    ['b', 7, 'SQL_REJECTED', '22012'],
    ['c', 99, 'SQL_REJECTED', undefined],
  ]);
});

it('the end of no step is known if that of COMMIT is not', () => {
  const { steps, run, told } = setup();
  run(3);
  steps.failed(new LostCommit(undefined), ctx);
  expect(told.map(([, , code]) => code)).toEqual(Array(3).fill('OUTCOME_UNKNOWN'));
});

it('an attempt that is repeated leaves nothing', () => {
  const { steps, run, told } = setup();
  run(3);
  steps.forget(new HubError('SQL_REJECTED', 'again'));
  run(3);
  steps.executed();
  expect(told).toHaveLength(3);
});
