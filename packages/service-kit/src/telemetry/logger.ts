/** JSON lines on standard output; readable lines when that is a terminal. */

import { type Logger, pino } from 'pino';
import type { SettingsReader } from '../process/settings.ts';

export type { Logger };

export interface LoggerOptions {
  service: string;
  level: string;
  pretty: boolean;
}

export function createLogger(options: LoggerOptions): Logger {
  const base = { service: options.service };
  const settings = { level: options.level, base, timestamp: createTimestamp() };
  if (!options.pretty) return pino(settings, createBatches());
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { ignore: 'pid,hostname,service', translateTime: 'SYS:HH:MM:ss.l' },
    },
  });
}

const batchBytes = 65_536;
const batchMs = 250;
/** UTF-8 needs no more for one UTF-16 unit. */
const unitBytesMax = 3;

/**
 * Lines go out together, a quarter of a second late at most, and at the end of the process: a write for each would cost
 * more than the line. They are gathered here as bytes, since the destination measures the whole of its text anew for
 * every line it adds.
 */
function createBatches(): { write(line: string): void } {
  const destination = pino.destination({ dest: 1, sync: false, contentMode: 'buffer' });
  // Its types know of texts alone.
  const write = (bytes: Buffer) => destination.write(bytes as never);
  let batch = Buffer.allocUnsafeSlow(batchBytes);
  let used = 0;
  const flush = () => {
    if (used === 0) return;
    write(batch.subarray(0, used));
    batch = Buffer.allocUnsafeSlow(batchBytes);
    used = 0;
  };
  setInterval(flush, batchMs).unref();
  process.on('exit', () => {
    flush();
    destination.flushSync();
  });
  return {
    write: (line) => {
      const bytesMax = line.length * unitBytesMax;
      if (bytesMax > batchBytes - used) flush();
      if (bytesMax > batchBytes) write(Buffer.from(line));
      else used += batch.write(line, used);
    },
  };
}

/** ISO 8601 in UTC with milliseconds, as a member of the line; the second's part is made once a second. */
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

/** `DATAHUB_LOG_LEVEL` and `DATAHUB_LOG_FORMAT`; pretty on a terminal unless told otherwise. */
export function readLoggerSettings(reader: SettingsReader): Pick<LoggerOptions, 'level' | 'pretty'> {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
  const format = reader.oneOf('DATAHUB_LOG_FORMAT', {
    values: ['auto', 'json', 'pretty'] as const,
    fallback: 'auto',
  });
  return {
    level: reader.oneOf('DATAHUB_LOG_LEVEL', { values: levels, fallback: 'info' }),
    pretty: format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true),
  };
}
