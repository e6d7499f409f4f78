/** Finds a Chromium for the browser tests. */

import { createInstaller } from './debian.ts';
import { findCommand } from './process.ts';

/** Debian's Chromium without windows, which needs about three quarters of the CPU. */
const light = 'chromium-headless-shell';

/**
 * The path of a Chromium: CHROMIUM_PATH, else the installed one, else Debian's package if it can be installed.
 * Undefined if there is none; the caller then skips its tests and reports it.
 */
export async function findChromium(options: { say: (line: string) => void }): Promise<string | undefined> {
  const here = process.env.CHROMIUM_PATH || findInstalled();
  const installer = createInstaller();
  if (here !== undefined || !installer.able) return here;
  options.say(`installing ${light} …`);
  const problem = await installer.install([light]).then(
    () => undefined,
    (err: Error) => err.message,
  );
  if (problem !== undefined) options.say(`${light} could not be installed: ${problem}`);
  return findInstalled();
}

function findInstalled(): string | undefined {
  return [light, 'chromium', 'chromium-browser', 'google-chrome']
    .map(findCommand)
    .find((path) => path !== undefined);
}
