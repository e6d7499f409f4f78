/** Finds a Chromium for the browser tests. */

import { createInstaller } from './debian.ts';
import { findCommand } from './process.ts';

/**
 * The path of a Chromium: CHROMIUM_PATH, else the installed one, else Debian's package if it can be installed.
 * Undefined if there is none; the caller then skips its tests and reports it.
 */
export async function findChromium(options: { say: (line: string) => void }): Promise<string | undefined> {
  const here = process.env.CHROMIUM_PATH || findInstalled();
  const installer = createInstaller();
  if (here !== undefined || !installer.able) return here;
  options.say('installing chromium …');
  const problem = await installer.install(['chromium']).then(
    () => undefined,
    (err: Error) => err.message,
  );
  if (problem !== undefined) options.say(`chromium could not be installed: ${problem}`);
  return findInstalled();
}

function findInstalled(): string | undefined {
  return ['chromium', 'chromium-browser', 'google-chrome']
    .map(findCommand)
    .find((path) => path !== undefined);
}
