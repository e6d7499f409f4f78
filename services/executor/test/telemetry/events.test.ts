import { HubError } from '@datahub/service-kit/call/error';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { expect, test } from 'vitest';
import type { Execution } from '../../src/execution/execution-state.ts';
import { AddressRefused } from '../../src/network/address-policy.ts';
import { sourceUnreachable } from '../../src/ports/engine.ts';
import { createExecutorEvents } from '../../src/telemetry/events.ts';

function setup(level = 'debug') {
  const lines: string[] = [];
  const write = (line: object, text: string) => lines.push(JSON.stringify({ ...line, text }));
  const levels = ['debug', 'info', 'warn', 'error'];
  const logger = {
    isLevelEnabled: (asked: string) => levels.indexOf(asked) >= levels.indexOf(level),
    ...Object.fromEntries(levels.map((name) => [name, write])),
  } as unknown as Logger;
  const poolStats = () => ({ pools: 1, waiting: 2, busy: 3, idle: 4, connecting: 5, tripped: 1 });
  return {
    lines,
    events: createExecutorEvents({
      logger,
      poolStats,
      slotStats: () => ({ held: 4, used: 3, waiting: 2, expirations: 1 }),
      cacheStats: () => ({ size: 6, bytes: 7 }),
      connectionsMax: 200,
      statistics: { executed: () => {}, failed: () => {}, answered: () => {}, ended: () => {} },
      slowMs: 1_000,
    }),
  };
}

const run = {
  request: { queryId: 'q', contextJson: '{"secret":"canary"}' },
  ctx: { requestId: 'r', principal: { accountId: 'a', keyId: 'k' } },
  query: {
    text: 'select canary',
    source: { sourceId: 's', engine: 'postgres', host: 'canary', sealed: { password: 'canary' } },
  },
  outcome: { rowCount: 2 },
  durationMs: 3,
  queueMs: 1,
  bytes: 20,
  startedAt: 0,
  now: () => 7,
} as unknown as Execution;

test('log lines contain ids, and never texts, values, hosts or messages of drivers', () => {
  const { lines, events } = setup();
  const driver = Object.assign(new Error('password authentication failed for user "canary"'), {
    code: 'ECONNRESET',
  });
  events.executed(run);
  events.failed(run, new HubError('SOURCE_BROKEN', 'x', { cause: driver, stage: 'execute' }));
  events.failed(
    run,
    new HubError('SQL_REJECTED', 'column "canary" does not exist', { sql: { state: '42703' } }),
  );
  events.connected(
    { sourceId: 's', engine: 'postgres' },
    5,
    sourceUnreachable(new AddressRefused('An address is of a refused kind.')),
  );
  const parsed = lines.map((line) => JSON.parse(line));
  expect(lines.join('')).not.toContain('canary');
  expect(parsed[0]).toMatchObject({
    event: 'execution',
    requestId: 'r',
    accountId: 'a',
    keyId: 'k',
    queryId: 'q',
    sourceId: 's',
    rows: 2,
  });
  expect(parsed[1]).toMatchObject({
    event: 'execution.failed',
    code: 'SOURCE_BROKEN',
    stage: 'execute',
    cause: 'Error ECONNRESET',
  });
  expect(parsed[2]).toMatchObject({ code: 'SQL_REJECTED', state: '42703' });
  expect(parsed[3]).toMatchObject({
    event: 'connect.failed',
    code: 'SOURCE_UNREACHABLE',
    cause: 'An address is of a refused kind.',
  });
});

test('unexpected errors are logged with their stack', () => {
  const { lines, events } = setup('info');
  events.unexpected(new Error('broken invariant'), 'r');
  events.failed(run, new HubError('INTERNAL', 'x', { cause: new Error('broken invariant') }));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toContain('broken invariant');
});

test('a failure with a public message is logged with it, and without what its cause says', () => {
  const { lines, events } = setup('info');
  const cause = new Error('a token in an answer');
  events.unexpected(new HubError('UNAVAILABLE', 'The keys of the issuer are missing.', { cause }), 'r');
  expect(lines[0]).toContain('The keys of the issuer are missing.');
  expect(lines[0]).not.toContain('a token in an answer');
});

test('fast executions are only counted, and slow ones are also logged', () => {
  const { lines, events } = setup('info');
  events.executed(run);
  expect(lines).toEqual([]);
  events.executed({ ...run, durationMs: 1_500 } as unknown as Execution);
  expect(lines).toHaveLength(1);
  const text = events.metrics();
  expect(text).toContain('datahub_execution_duration_seconds_count{engine="postgres",code="OK"} 2');
  expect(text).toContain(
    'datahub_execution_duration_seconds_bucket{engine="postgres",code="OK",le="0.005"} 1',
  );
  expect(text).toContain('datahub_answer_rows_total 4');
  expect(text).toContain('datahub_pool_connections{state="idle"} 4');
  expect(text).toContain('datahub_pool_connections_max 200');
  expect(text).toContain('datahub_sources_tripped 1');
  expect(text).toMatch(/\n$/);
});
