/** Installs Debian packages with apt-get, if this process is root. */

import { findCommand, run } from './process.ts';

export interface Installer {
  /** False if nothing can be installed. */
  readonly able: boolean;
  /** Resolves when they are installed. Concurrent runs on the same machine wait for each other. */
  install(packages: string[]): Promise<void>;
}

const lockPath = '/run/lock/datahub-install';
const lockTimeoutS = 600;

/**
 * While policy-rc.d exits with 101, packages do not start their services, because the tests start their own. An
 * existing policy is kept.
 */
const script = `
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 130' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
apt-get update -qq -o Acquire::Retries=3
apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
`;

export function createInstaller(): Installer {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const able =
    process.getuid?.() === 0 && ['apt-get', 'flock'].every((name) => findCommand(name) !== undefined);
  return {
    able,
    install: async (packages) => {
      await run('flock', ['-w', `${lockTimeoutS}`, lockPath, 'sh', '-c', script, 'install', ...packages], {
        env,
      });
    },
  };
}
