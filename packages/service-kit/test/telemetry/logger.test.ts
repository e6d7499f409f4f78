import { pino } from 'pino';
import { expect, it } from 'vitest';
import { logPlainLine, toSentence } from '../../src/telemetry/logger.ts';

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

it('writes sentences at a terminal, and tells the cause of a warning', () => {
  const line = {
    level: 30,
    time: 1,
    service: 'hub',
    event: 'service.stopping',
    reason: 'SIGTERM',
    msg: 'stopping',
  };
  expect(toSentence(line)).toBe('stopping');
  expect(toSentence({ ...line, durationMs: 12 })).toBe('stopping (12 ms)');
  const warning = { ...line, level: 40, msg: 'sweeping failed', err: new Error('no disk'), keyId: 'k' };
  expect(toSentence(warning)).toBe('sweeping failed; no disk; reason SIGTERM; keyId k');
});

it('lets no text control the terminal, or look like a line of its own', () => {
  const hostile = '\u001b[2J\u001b]0;x\u0007 \u202eevil\r\nFAKE\u2028LINE \u009b31m';
  const line = { level: 40, msg: 'refused', err: new Error(hostile), cause: hostile, more: { hostile } };
  for (const one of [line, { level: 30, msg: hostile }]) {
    expect(toSentence(one)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(toSentence(one)).toContain('\\u{1b}[2J');
    expect(toSentence(one)).toContain('\\u{202e}evil FAKE LINE');
  }
});
