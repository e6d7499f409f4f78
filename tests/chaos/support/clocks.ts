/** Clocks of a hub's programs that a test sets. */

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const preloaded = new URL('shifted-clock.mjs', import.meta.url).href;

/** The settings that a hub needs so that its clocks can be set. */
export const clockSettings = (dir: string) => ({ CLOCK_DIR: dir, NODE_OPTIONS: `--import=${preloaded}` });

/** Sets how far the processes of a service are ahead. The first that starts is ahead by the first number, and so on. */
export async function setClocks(dir: string, service: string, shiftsMs: readonly number[]): Promise<void> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, service);
  // As one step, because a process may read it at any time.
  await writeFile(`${file}.next`, JSON.stringify(shiftsMs));
  await rename(`${file}.next`, file);
}
