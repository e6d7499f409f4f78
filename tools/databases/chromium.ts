/** The browser for tests in a page. */

import { createInstaller } from './debian.ts';
import { findCommand } from './process.ts';

/**
 * The path of a Chromium: CHROMIUM_PATH, else what is installed here, else Debian's package where this machine lets us
 * install it. Undefined where there is none; whoever asked skips its tests and says so.
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
