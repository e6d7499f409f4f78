import { ProblemError } from '@datahub/client';
import { expect, it } from 'vitest';
import { exitCodes, isUnknown } from '../../src/failure.ts';
import { applyPlan } from '../../src/files/apply.ts';

/** Applies a step to a hub whose answer is lost. */
const failureOf = (step: object): Promise<unknown> => {
  const lost = new ProblemError({ status: 0, code: 'NO_ANSWER', detail: 'Lost.', retryable: false });
  const hub = { call: () => Promise.reject(lost) };
  const plan = {
    steps: [step],
    directory: { hub: { model: { path: 'shop', label: 'Shop' } } },
    remote: { hubId: 'h', path: 'shop', queries: [] },
    keys: { classifierIds: new Map() },
  };
  return applyPlan({ hub, plan, onStep: () => {}, onKey: () => {} } as never).catch((err) => err);
};

it('says that a step without an answer can be repeated, apart from a key, whose text is lost', async () => {
  expect(await failureOf({ kind: 'classifier', action: 'create', name: 'Mail' })).toMatchObject({
    message: 'The classifier Mail may be done: Lost. Run this again.',
    exitCode: exitCodes.unavailable,
  });
  const file = { model: { path: 'page', scopes: ['queries:execute'], limits: {} } };
  const err = await failureOf({ kind: 'key', action: 'create', name: 'page', file });
  expect(isUnknown((err as ProblemError).problem)).toBe(true);
});
