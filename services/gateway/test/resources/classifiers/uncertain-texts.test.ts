import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import type { PredictRequest } from '@datahub/proto/ml/v1/ml';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { readUncertain } from '../../../src/resources/classifiers/uncertain-texts.ts';

interface Given {
  classes: number;
  /** Never ends, but for the first text. */
  hangs?: boolean;
  /** The time of the request passes before anything is predicted. */
  isLate?: boolean;
}

/** The source ends with its timeout if the rows are not predicted. */
function ask({ classes, hangs = false, isLate = false }: Given) {
  const executed: ExecuteRequest[] = [];
  const ml = {
    predict: async ({ contexts }: PredictRequest) => {
      if (isLate) throw new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.');
      if (hangs && contexts[0] !== 'a text') await new Promise(() => {});
      return { predictions: contexts.map(() => ({ scores: [], otherScore: 1 })), classes };
    },
  };
  const executor = {
    execute: async (request: ExecuteRequest, _: unknown, reply: { chunk(bytes: Buffer): boolean }) => {
      executed.push(request);
      reply.chunk(Buffer.from('{"body":"late"}\n{"body":"broken"}\n'));
      await new Promise((resolve) => setImmediate(resolve));
      if (hangs) throw new HubError('STATEMENT_TIMEOUT', 'The statement took longer than allowed.');
    },
  };
  const request = {
    query: { queryId: 'q', text: 'body' },
    context: { principal: { scopes: ['*'] }, signal: new CallStop() },
  };
  const options = { classifierId: 'c', upstreams: { ml, executor } };
  const answer = readUncertain(request as never, { header: () => {} } as never, options as never);
  return { answer, maxRows: () => executed[0]?.options?.maxRows };
}

it('reads fewer rows of a query for a classifier of many classes', async () => {
  for (const [classes, rows] of [
    [3, 10_000],
    [2_000, 10_000],
    [9_500, 2_105],
  ] as const) {
    const { answer, maxRows } = ask({ classes });
    expect((await answer).map(({ context }) => context)).toEqual(['late', 'broken']);
    expect(maxRows()).toBe(rows);
  }
});

it('says that the classifier took too long, not the statement that waited for it', async () => {
  for (const given of [{ hangs: true }, { isLate: true }])
    await expect(ask({ classes: 3, ...given }).answer).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('The classifier did not predict'),
      retryable: true,
    });
});
