/** MySQL and MariaDB as one engine. */

import type { Engine } from '../../engine.ts';

/** Loaded with its first source: the driver takes 11 MiB. */
export function createMysqlEngine(): Engine {
  return {
    connect: async (...call) => (await import('./connect.ts')).connectMysql(...call),
  };
}
