/** Python packages that tests use, from the system or installed by pip in the folder of `cache.ts`. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { cacheDir } from './cache.ts';

export interface PythonPackage {
  /** The environment of Python programs that import the package. */
  env(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /** True if it and those that come with it can be imported. */
  isInstalled(env: NodeJS.ProcessEnv): boolean;
  /** True if pip succeeded. */
  install(env: NodeJS.ProcessEnv): boolean;
}

/** `others` are installed with the package, as in `polars==2.1.0`. */
export function pythonPackage(name: string, version: string, others: string[] = []): PythonPackage {
  const dir = join(cacheDir, `${name}-${version}`);
  const env = (base: NodeJS.ProcessEnv) => ({ ...base, PYTHONPATH: dir });
  return {
    env,
    isInstalled: (base) => {
      const names = [name, ...others.map((other) => other.split('==', 1)[0] as string)];
      const args = ['-c', `import ${names.map((one) => one.replaceAll('-', '_')).join(', ')}`];
      return spawnSync('python3', args, { env: env(base), stdio: 'ignore' }).status === 0;
    },
    install: (base) => {
      const args = ['-m', 'pip', 'install', '--quiet', '--target', dir, `${name}==${version}`, ...others];
      return spawnSync('python3', args, { env: base, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
    },
  };
}
