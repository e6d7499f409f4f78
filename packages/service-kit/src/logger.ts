/** JSON lines on standard output; readable lines when that is a terminal. */

import { type Logger, pino } from 'pino';
import type { SettingsReader } from './settings.ts';

export type { Logger };

export interface LoggerOptions {
  service: string;
  level: string;
  pretty: boolean;
}

export function createLogger(options: LoggerOptions): Logger {
  const base = { service: options.service };
  const settings = { level: options.level, base, timestamp: pino.stdTimeFunctions.isoTime };
  if (!options.pretty) return pino(settings, createBatches());
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { ignore: 'pid,hostname,service', translateTime: 'SYS:HH:MM:ss.l' },
    },
  });
}

const batchBytes = 15_360;
const batchMs = 250;

/** Lines go out together, a quarter of a second late at most, and at the end of the process: a write for each would cost more than the line. */
function createBatches() {
  const batches = pino.destination({ dest: 1, sync: false, minLength: batchBytes, periodicFlush: batchMs });
  process.on('exit', () => batches.flushSync());
  return batches;
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
