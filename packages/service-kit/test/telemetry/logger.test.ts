import { pino } from 'pino';
import { expect, it } from 'vitest';
import { logPlainLine } from '../../src/telemetry/logger.ts';

it('writes the line of a request as pino does', () => {
  const lines: string[] = [];
  const settings = { base: { service: 'gateway' }, timestamp: () => ',"time":"2026-01-02T03:04:05.678Z"' };
  const root = pino(settings, { write: (line) => lines.push(line) });
  for (const log of [root, root.child({ event: 'http.request', status: 200 }).child({ keyId: 'k"1' })]) {
    const line = { requestId: 'a-b.c:1', durationMs: 1.25 };
    log.info(line, 'POST /v1/queries/execute 200');
    logPlainLine(log, line, 'POST /v1/queries/execute 200');
  }
  expect([lines[1], lines[3]]).toEqual([lines[0], lines[2]]);
});
