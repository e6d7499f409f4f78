/** Installs Debian packages when this machine lets it: as root, with apt-get. */

import { rm, writeFile } from 'node:fs/promises';
import { isOnPath, run } from './process.ts';

export interface Installer {
  /** False when this machine does not let us install anything. */
  readonly able: boolean;
  /** One call at a time runs, the others wait for their turn. */
  install(packages: string[]): Promise<void>;
}

/** While this file is there, packages do not start their services: the tests start their own. */
const policyPath = '/usr/sbin/policy-rc.d';

export function createInstaller(): Installer {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['-qq', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'];
  let queue: Promise<unknown> = Promise.resolve();
  let updated = false;

  const installNow = async (packages: string[]) => {
    if (!updated) await run('apt-get', ['update', '-qq'], { env });
    updated = true;
    const ours = await writeFile(policyPath, '#!/bin/sh\nexit 101\n', { flag: 'wx', mode: 0o755 }).then(
      () => true,
      () => false,
    );
    try {
      await run('apt-get', ['install', ...options, ...packages], { env });
    } finally {
      if (ours) await rm(policyPath, { force: true });
    }
  };

  return {
    able: process.getuid?.() === 0 && isOnPath('apt-get'),
    install: (packages) => {
      const next = queue.then(() => installNow(packages));
      queue = next.catch(() => {});
      return next;
    },
  };
}
