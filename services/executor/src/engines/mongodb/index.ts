/** MongoDB and servers with the same protocol. */

import type { Engine } from '../../ports/engine.ts';

/** The driver is loaded with the first source, because it costs start time and memory. */
export function createMongodbEngine(): Engine {
  let loading: Promise<{ connect: Engine['connect']; owns: NonNullable<Engine['owns']> }> | undefined;
  let owns: Engine['owns'];
  const load = async () => {
    const { openMongodb } = await import('./connect.ts');
    const opened = openMongodb();
    owns = opened.owns;
    return opened;
  };
  return {
    connect: async (...call) => {
      loading ??= load();
      return (await loading).connect(...call);
    },
    owns: (address, port) => owns?.(address, port) ?? false,
  };
}
