import { expect, it } from 'vitest';
import { createStopLog } from '../../src/process/stop-log.ts';
import type { Logger } from '../../src/telemetry/logger.ts';

it('says what is waited for, and what was cut in the end', () => {
  const lines: [Record<string, unknown>, string][] = [];
  const logger = { info: (...line: [Record<string, unknown>, string]) => lines.push(line) };
  const stopLog = createStopLog({
    logger: logger as unknown as Logger,
    drainMs: 25_000,
    underWay: () => 3,
    what: 'requests',
  });
  stopLog.begin('SIGTERM');
  stopLog.cut(2);
  stopLog.cut(1);
  stopLog.end();
  expect(lines).toEqual([
    [
      { event: 'service.stopping', reason: 'SIGTERM', awaited: 3, drainMs: 25_000 },
      'stopping (SIGTERM): 3 requests under way may go on for 25000 ms at most',
    ],
    [
      { event: 'service.stopped', durationMs: expect.any(Number), cut: 3 },
      expect.stringMatching(/^stopped after \d+ ms, with 3 requests cut$/),
    ],
  ]);
});
