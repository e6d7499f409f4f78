/**
 * Says in the log that a process runs out of file descriptors. The system then closes new connections before the process
 * sees them, so nothing else says why.
 */

import { readdir, readFile } from 'node:fs/promises';
import type { Closable } from '../closers.ts';
import type { Logger } from '../telemetry/logger.ts';

const everyMsDefault = 10_000;
const shareMax = 0.9;

export interface DescriptorOptions {
  logger: Logger;
  everyMs?: number;
  readMax?: () => Promise<number>;
  /** Resolves to undefined if none is left to count them with. */
  countUsed?: () => Promise<number | undefined>;
}

export function watchDescriptors(options: DescriptorOptions): Closable {
  const { logger, everyMs = everyMsDefault, readMax = readLimit, countUsed = countOpen } = options;
  const limit = readMax();
  let isScarce = false;
  const look = async () => {
    const max = await limit;
    const used = (await countUsed()) ?? max;
    const wasScarce = isScarce;
    isScarce = used > max * shareMax;
    if (!isScarce || wasScarce) return;
    logger.warn(
      { event: 'descriptors.scarce', used, max },
      `${used} of ${max} file descriptors are in use: soon the system closes new connections`,
    );
  };
  // Only Linux shows them.
  const timer = setInterval(() => look().catch(() => clearInterval(timer)), everyMs).unref();
  return { close: () => clearInterval(timer) };
}

async function readLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
}

const countOpen = (): Promise<number | undefined> =>
  readdir('/proc/self/fd').then(
    ({ length }) => length,
    (err: NodeJS.ErrnoException) => {
      if (err.code !== 'EMFILE' && err.code !== 'ENFILE') throw err;
      return undefined;
    },
  );
