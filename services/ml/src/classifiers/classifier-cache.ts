/**
 * The classifiers held in memory: those used lately, a bounded number of bounded size together; the others come back
 * from the store.
 */

import type { ReplicaDeps } from './classifier-deps.ts';
import { Replica } from './classifier-log.ts';

export interface Replicas {
  of(accountId: string, classifierId: string): Replica;
  drop(classifierId: string): void;
  /** Lets go of what was not used for a while, and of what is too much. */
  sweep(): void;
  readonly count: number;
  /** In bytes. */
  readonly size: number;
}

export interface ReplicasOptions {
  heldMax: number;
  heldBytesMax: number;
  idleMs: number;
}

export function createReplicas(deps: ReplicaDeps, options: ReplicasOptions): Replicas {
  /** The one used last comes last. */
  const held = new Map<string, Replica>();
  const sizeOf = (replicas: Iterable<Replica>) => {
    let size = 0;
    for (const replica of replicas) size += replica.size;
    return size;
  };
  /** Of the account that has most in memory, what it used longest ago: one account does not push out those of others. */
  const trim = (used?: Replica) => {
    let size = sizeOf(held.values());
    while (held.size > options.heldMax || size > options.heldBytesMax) {
      const sizes = new Map<string, number>();
      for (const one of held.values()) {
        // A classifier that is empty counts, too, for the number of them is bounded.
        sizes.set(one.accountId, (sizes.get(one.accountId) ?? 1) + one.size + 1);
      }
      let most: string | undefined;
      for (const [accountId, own] of sizes)
        if (most === undefined || own > (sizes.get(most) ?? 0)) most = accountId;
      const found = [...held].find(([, one]) => one.accountId === most && one !== used);
      if (found === undefined) return;
      held.delete(found[0]);
      size -= found[1].size;
    }
  };
  return {
    of: (accountId, classifierId) => {
      const key = `${accountId}/${classifierId}`;
      const replica = held.get(key) ?? new Replica(accountId, classifierId, { ...deps, onLoaded: trim });
      held.delete(key);
      held.set(key, replica);
      trim(replica);
      return replica;
    },
    drop: (classifierId) => {
      for (const key of held.keys()) if (key.endsWith(`/${classifierId}`)) held.delete(key);
    },
    sweep: () => {
      const idleSince = performance.now() - options.idleMs;
      for (const [key, replica] of held) if (replica.usedAt < idleSince) held.delete(key);
      trim();
    },
    get count() {
      return held.size;
    },
    get size() {
      return sizeOf(held.values());
    },
  };
}
