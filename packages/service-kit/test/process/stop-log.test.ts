import { expect, it } from 'vitest';
import { createStopLog } from '../../src/process/stop-log.ts';
import type { Logger } from '../../src/telemetry/logger.ts';

it('logs what a stop waits for, and what was cut', () => {
  const lines: [Record<string, unknown>, string][] = [];
  const logger = { info: (...line: [Record<string, unknown>, string]) => lines.push(line) };
  const stopLog = createStopLog({
    logger: logger as unknown as Logger,
    drainMs: 25_000,
    inFlight: () => 3,
    what: 'requests',
  });
  stopLog.begin('SIGTERM');
  stopLog.cut(2);
  stopLog.cut(1);
  stopLog.end();
  expect(lines).toEqual([
    [
      { event: 'service.stopping', reason: 'SIGTERM', awaited: 3, drainMs: 25_000 },
      'stopping (SIGTERM): waiting at most 25000 ms for 3 requests in flight',
    ],
    [
      { event: 'service.stopped', durationMs: expect.any(Number), cut: 3 },
      expect.stringMatching(/^stopped after \d+ ms, 3 requests cut$/),
    ],
  ]);
});
