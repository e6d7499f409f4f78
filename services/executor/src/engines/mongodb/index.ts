/** MongoDB, and what speaks as it does. */

import type { Engine } from '../../engine.ts';

/** Loaded with its first source: the driver takes its time and its memory. */
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
