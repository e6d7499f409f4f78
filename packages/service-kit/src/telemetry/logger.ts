/** Logs JSON lines to standard output, or readable lines if that is a terminal. */

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import type { SettingsReader } from '../settings/settings.ts';
import { LogOutput, writeAllSync } from './log-output.ts';

export type { Logger };

/** Members of a logger that pino exposes for integrations: its bindings and the time, both as JSON members. */
const { chindingsSym, streamSym, timeSym } = pino.symbols as Record<string, symbol> as Record<
  'chindingsSym' | 'streamSym' | 'timeSym',
  symbol
>;

export interface LoggerOptions {
  service: string;
  level: string;
  pretty: boolean;
}

/**
 * Writes the line that `log.info({ requestId, durationMs }, text)` would write, for a third of the instructions. The
 * texts must need no escapes in JSON.
 */
export function logPlainLine(
  log: Logger,
  { requestId, durationMs }: { requestId: string; durationMs: number },
  text: string,
): void {
  const inner = log as unknown as Record<symbol, unknown>;
  const time = (inner[timeSym] as () => string)();
  const bindings = inner[chindingsSym] as string;
  (inner[streamSym] as { write(line: string): void }).write(
    `{"level":30${time}${bindings},"requestId":"${requestId}","durationMs":${durationMs},"msg":"${text}"}\n`,
  );
}

export function createLogger(options: LoggerOptions): Logger {
  const { service } = options;
  const timestamp = createTimestamp();
  const settings = { level: options.level, base: { service }, timestamp };
  const describeLost = (lines: number) => {
    const msg = 'lines are missing here, because the output of the log took none';
    const members = JSON.stringify({ level: warn, service, event: 'log.lost', lines, msg });
    return `${members.slice(0, -1)}${timestamp()}}\n`;
  };
  if (!options.pretty) return pino(settings, createBatchingStream(new LogOutput({ describeLost })));
  return pino(settings, createTerminalStream());
}

/** pino's number of the level `warn`. */
const warn = 40;

/** What a person at a terminal does not need beside a warning; `DATAHUB_LOG_FORMAT=json` shows it. */
const ofMachines = new Set([
  ...['level', 'time', 'msg', 'pid', 'hostname', 'service', 'event', 'traceId', 'durationMs', 'err'],
]);

/** A sentence for each event. Warnings and errors have their members behind it, because somebody will look for the cause. */
export function toSentence(log: Record<string, unknown>): string {
  const { msg, durationMs, level, err } = log;
  const sentence = durationMs === undefined ? String(msg) : `${msg} (${durationMs} ms)`;
  if (Number(level) < warn) return onOneLine(sentence);
  const members = Object.entries(log).filter(([name]) => !ofMachines.has(name));
  const texts = members.map(
    ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  const cause = (err as { message?: string } | undefined)?.message;
  return onOneLine([sentence, ...(cause === undefined ? [] : [cause]), ...texts].join('; '));
}

/** A text of a caller or of another server must not control the terminal, or look like a line of its own. */
const onOneLine = (text: string): string =>
  text
    .replaceAll(/[\t\n\r\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** One line for each event. It is written at once, so that it stands in order with what the program prints itself. */
function createTerminalStream(): NodeJS.WritableStream {
  const require = createRequire(import.meta.url);
  const { build } = require('pino-pretty') as typeof import('pino-pretty');
  // pino's own destination would try for ever to write to a full disk when the process ends.
  const destination = new Writable({
    write: (lines, _encoding, done) => {
      writeAllSync(lines);
      done();
    },
  });
  return build({
    destination,
    sync: true,
    hideObject: true,
    ignore: 'pid,hostname',
    messageFormat: toSentence,
    translateTime: 'SYS:HH:MM:ss.l',
  });
}

const batchBytes = 65_536;
const batchMs = 250;
/** The most UTF-8 bytes for one UTF-16 code unit. */
const unitBytesMax = 3;

/**
 * Writes lines in batches, at most a quarter of a second late and when the process exits, because a system call for each
 * line would cost more than the line.
 */
function createBatchingStream(output: LogOutput): { write(line: string): void } {
  let batch = Buffer.allocUnsafeSlow(batchBytes);
  let used = 0;
  /** Runs only while lines wait, so that a silent process sleeps. */
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (used === 0) return;
    output.write(batch.subarray(0, used));
    batch = Buffer.allocUnsafeSlow(batchBytes);
    used = 0;
  };
  process.on('exit', () => {
    flush();
    output.endSync();
  });
  return {
    write: (line) => {
      const bytesMax = line.length * unitBytesMax;
      if (bytesMax > batchBytes - used) flush();
      if (bytesMax > batchBytes) return output.write(Buffer.from(line));
      used += batch.write(line, used);
      timer ??= setTimeout(flush, batchMs).unref();
    },
  };
}

/** ISO 8601 in UTC with milliseconds, as a JSON member. The part up to the second is formatted once a second. */
function createTimestamp(): () => string {
  let second = 0;
  let upToSecond = '';
  return () => {
    const now = Date.now();
    const milliseconds = now % 1_000;
    if (now - milliseconds !== second) {
      second = now - milliseconds;
      upToSecond = new Date(second).toISOString().slice(0, -4);
    }
    return `,"time":"${upToSecond}${String(milliseconds).padStart(3, '0')}Z"`;
  };
}

/** `DATAHUB_LOG_LEVEL` and `DATAHUB_LOG_FORMAT`; readable lines on a terminal by default. */
export function readLoggerSettings(reader: SettingsReader): Pick<LoggerOptions, 'level' | 'pretty'> {
  const format = reader.oneOf('DATAHUB_LOG_FORMAT');
  return {
    level: reader.oneOf('DATAHUB_LOG_LEVEL'),
    pretty: format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true),
  };
}
