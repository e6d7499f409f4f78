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
 * existing policy is kept. The archives have a directory of their own, because in containers any concurrent
 * `apt-get update`, also one with other lists, deletes those in the default directory before they are unpacked.
 */
const script = `
policy=/usr/sbin/policy-rc.d
archives=$(mktemp -d) || exit
made=$archives
trap 'rm -rf $made' EXIT
trap 'exit 130' HUP INT TERM
chmod 755 $archives
mkdir $archives/partial
if [ ! -e $policy ]; then
  made="$made $policy"
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
apt-get update -qq -o Acquire::Retries=3
apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \\
  -o Dir::Cache::archives=$archives "$@"
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
