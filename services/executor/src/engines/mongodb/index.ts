/** MongoDB, and what speaks as it does. */

import type { Engine } from '../../engine.ts';

/** Loaded with its first source: the reader of BSON takes its time and 17 MiB. */
export function createMongodbEngine(): Engine {
  return {
    names: ['mongodb'],
    connect: async (...call) => (await import('./connect.ts')).connectMongodb(...call),
  };
}
