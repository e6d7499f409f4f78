import { Format } from '@datahub/proto/executor/v1/executor';
import { Deadlines } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { runDraft } from '../../src/execution/draft.ts';
import { Execution } from '../../src/execution/execution-state.ts';
import type { PreparedQuery } from '../../src/execution/prepare.ts';
import type { StatementRun } from '../../src/execution/run-statement.ts';
import type { Outcome } from '../../src/ports/engine.ts';
import type { RowSink } from '../../src/ports/row-sink.ts';
import { done, key, query } from '../fakes/pipeline.ts';

/** Explains a draft at a server that answers with these rows. */
async function explain(rows: (sink: RowSink) => void): Promise<string> {
  const chunks: Buffer[] = [];
  const now = () => performance.now();
  const ctx = {
    ...{ principal: key, requestId: 'r', deadlineAt: now() + 60_000 },
    signal: new AbortController().signal,
  };
  const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
  const request = { queryId: 's', contextJson: '{}', format: Format.FORMAT_JSON };
  const execution = new Execution(request, ctx, { reply, now });
  execution.onPrepared(query, { kind: 'read' } as PreparedQuery, 1_000);
  const connection = {
    run: async (_statement: unknown, sink: RowSink): Promise<Outcome> => {
      sink.begin([]);
      rows(sink);
      return done;
    },
  };
  const run = {
    pool: { tryAcquire: () => ({ connection, uses: 1 }), release: () => {} },
    statement: { key: 'k', text: 'SELECT 1', params: [], kind: 'read' },
    options: { statementTimeoutMs: 1_000 },
    ...{ key: 'k', bytes: 0 },
    deps: { now, deadlines: new Deadlines(), transfer: { timeoutMs: 1_000, bytesPerSecondMin: 1 } },
  };
  await runDraft(
    execution,
    run as unknown as StatementRun,
    {
      ...{ sourceId: 's', explain: true, analyze: false },
    } as never,
  );
  return Buffer.concat(chunks).toString();
}

it('passes a plan on', async () => {
  const plan = Buffer.from('[{"Plan":1}]');
  expect(await explain((sink) => sink.row(plan, Int32Array.of(0, plan.length)))).toBe(
    '{"plan":[{"Plan":1}]}',
  );
});

it('keeps no endless rows of a server, not even empty ones', async () => {
  const nothing = Buffer.alloc(0);
  const explaining = explain((sink) => {
    for (let i = 0; i < 200_000; i++) sink.row(nothing, Int32Array.of(0, 0));
  });
  await expect(explaining).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
});
