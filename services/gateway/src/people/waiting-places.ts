/**
 * Bounds what callers without a key let the hub ask the provider at a time. Each such request holds two connections for as
 * long as the provider takes, so a slow provider would let anybody use up memory and file descriptors.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { Usage } from '@datahub/service-kit/usage';
import { networkOf } from '../access/rate-limiter.ts';

export interface WaitingPlaces {
  /** Resolves as `ask` does. Rejects at once, without asking, if too many wait already. */
  hold<Value>(address: string, ask: () => Promise<Value>): Promise<Value>;
}

interface Bounds {
  max: number;
  /** Of them, those that one network holds. */
  ofNetworkMax: number;
}

export function createWaitingPlaces({ max, ofNetworkMax }: Bounds): WaitingPlaces {
  const held = new Usage();
  return {
    hold: async (address, ask) => {
      const network = networkOf(address);
      if (held.of(network) >= ofNetworkMax || held.all >= max) throw tooMany();
      held.add(network, 1);
      try {
        return await ask();
      } finally {
        held.add(network, -1);
      }
    },
  };
}

const tooMany = () =>
  new HubError('UNAVAILABLE', 'The provider for sign-in answers too many others. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
