/** MongoDB and servers with the same protocol. */

import { loadOnce } from '@datahub/service-kit/load-once';
import type { Engine } from '../../ports/engine.ts';

/** The driver is loaded with the first source, because it costs start time and memory. */
export function createMongodbEngine(): Engine {
  let owns: Engine['owns'];
  const load = loadOnce(async () => {
    const { openMongodb } = await import('./connect.ts');
    const opened = openMongodb();
    owns = opened.owns;
    return opened;
  });
  return {
    connect: async (...call) => (await load()).connect(...call),
    owns: (address, port) => owns?.(address, port) ?? false,
  };
}
