/** MySQL and MariaDB as one engine. */

import type { Engine } from '../../ports/engine.ts';

/** The driver takes 11 MiB, so it is loaded with the first source. */
export function createMysqlEngine(): Engine {
  return {
    connect: async (...call) => (await import('./connect.ts')).connectMysql(...call),
  };
}
