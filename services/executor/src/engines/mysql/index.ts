/** MySQL and MariaDB as one engine. */

import type { Engine } from '../../ports/engine.ts';
import type { Cancellers } from './connect.ts';

/** The driver takes 11 MiB, so it is loaded with the first source. */
export function createMysqlEngine(): Engine {
  const cancellers: Cancellers = new WeakMap();
  return {
    connect: async (settings, deps) =>
      (await import('./connect.ts')).connectMysql(settings, { ...deps, cancellers }),
  };
}
