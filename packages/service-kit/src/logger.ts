/** JSON lines on standard output; readable lines when that is a terminal. */

import { type Logger, pino } from 'pino';

export type { Logger };

export interface LoggerOptions {
  service: string;
  level: string;
  pretty: boolean;
}

export function createLogger(options: LoggerOptions): Logger {
  const base = { service: options.service };
  const settings = { level: options.level, base, timestamp: pino.stdTimeFunctions.isoTime };
  if (!options.pretty) return pino(settings);
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { ignore: 'pid,hostname,service', translateTime: 'SYS:HH:MM:ss.l' },
    },
  });
}
