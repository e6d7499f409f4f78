/** The classifiers held in memory: those used lately, a bounded number; the others come back from the store. */

import { Replica, type ReplicaDeps } from './replica.ts';

export interface Replicas {
  of(accountId: string, classifierId: string): Replica;
  drop(classifierId: string): void;
  /** Lets go of what was not used for a while. */
  sweep(): void;
  readonly size: number;
}

export interface ReplicasOptions {
  heldMax: number;
  idleMs: number;
}

export function createReplicas(deps: ReplicaDeps, options: ReplicasOptions): Replicas {
  const held = new Map<string, Replica>();
  return {
    of: (accountId, classifierId) => {
      const key = `${accountId}/${classifierId}`;
      const replica = held.get(key) ?? new Replica(accountId, classifierId, deps);
      // Newest last: the first one is the one that makes way.
      held.delete(key);
      held.set(key, replica);
      if (held.size > options.heldMax) held.delete(held.keys().next().value as string);
      return replica;
    },
    drop: (classifierId) => {
      for (const key of held.keys()) if (key.endsWith(`/${classifierId}`)) held.delete(key);
    },
    sweep: () => {
      const idleSince = performance.now() - options.idleMs;
      for (const [key, replica] of held) if (replica.usedAt < idleSince) held.delete(key);
    },
    get size() {
      return held.size;
    },
  };
}
