/** The number of workers, from the command line or the environment. */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Environment, readSettings, SettingsError } from '@datahub/service-kit/settings/settings';
import { hubSettingsOf } from '../hub-settings.ts';

const workersMax = 64;
const usage = `usage: npm start [-- --workers 1..${workersMax} | auto]`;

/** `auto` is the number of cores that this process may use. If the number is wrong, it reports every wrong setting. */
export function readWorkerCount(args: readonly string[], env: Environment): number {
  const fromCommand = fromArguments(args);
  return readSettings(env, (reader) => {
    const given = fromCommand ?? reader.text('DATAHUB_WORKERS');
    if (given === 'auto') return Math.min(availableParallelism(), workersMax);
    const count = /^\d{1,2}$/.test(given) ? Number(given) : 0;
    if (count >= 1 && count <= workersMax) return count;
    reader.fault(`--workers and DATAHUB_WORKERS must be a whole number from 1 to ${workersMax}, or auto.`);
    hubSettingsOf(reader, env);
    return 1;
  });
}

function fromArguments(args: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...args], options: { workers: { type: 'string' } } }).values.workers;
  } catch (err) {
    throw new SettingsError([`${(err as Error).message} (${usage})`]);
  }
}
