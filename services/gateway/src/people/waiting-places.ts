/**
 * Bounds what callers without a key let the hub ask the provider at a time. Each such request holds two connections for as
 * long as the provider takes, so a slow provider would let anybody use up memory and file descriptors.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { networkOf } from '../access/rate-limiter.ts';

export interface WaitingPlaces {
  /** Resolves as `ask` does. Rejects at once, without asking, if too many wait already. */
  hold<Value>(address: string, ask: () => Promise<Value>): Promise<Value>;
}

/** `ofNetworkMax` is the most that one network holds of them. */
export function createWaitingPlaces({
  max,
  ofNetworkMax,
}: {
  max: number;
  ofNetworkMax: number;
}): WaitingPlaces {
  const held = new Map<string, number>();
  let sum = 0;
  return {
    hold: async (address, ask) => {
      const network = networkOf(address);
      const before = held.get(network) ?? 0;
      if (before >= ofNetworkMax || sum >= max) throw tooMany();
      held.set(network, before + 1);
      sum++;
      try {
        return await ask();
      } finally {
        const left = (held.get(network) ?? 1) - 1;
        if (left === 0) held.delete(network);
        else held.set(network, left);
        sum--;
      }
    },
  };
}

const tooMany = () =>
  new HubError('UNAVAILABLE', 'The provider for sign-in answers too many others. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
