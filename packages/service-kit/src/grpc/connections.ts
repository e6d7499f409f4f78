/**
 * The connections of a gRPC client. Keepalive pings detect a peer that died without closing its connections. But Node
 * cannot send pings on a connection that the server closes gracefully, and grpc-js then cuts the calls in flight. So a
 * client whose calls may be long opens new connections every half minute instead. Later calls use the new connections,
 * and the old ones close after their last call. This also detects new replicas behind a name.
 */

import type { ChannelOptions, Client } from '@grpc/grpc-js';

export interface Connections {
  /** Reserves the newest connections for one call. `release` must be called once, at the end of the call. */
  use(): { client: Client; release: () => void };
  /** Closes the connections. Calls in flight may fail. */
  close(): void;
}

export type OpenClient = (options: ChannelOptions) => Client;

/** Opens connections that are never replaced. The caller detects dead peers itself, or uses keepalive pings. */
export function openConnections(open: OpenClient, options: ChannelOptions = {}): Connections {
  const client = open(options);
  return { use: () => ({ client, release: () => {} }), close: () => client.close() };
}

/** For streams that stay open. Not for calls that must survive the graceful end of a connection. */
export const keepalive = { 'grpc.keepalive_time_ms': 20_000, 'grpc.keepalive_timeout_ms': 5_000 };

interface Generation {
  client: Client;
  calls: number;
}

/** By default, channels share connections to the same address. */
const ownConnections = { 'grpc.use_local_subchannel_pool': 1 };
/** The time limit for new connections. They replace the old ones once they are established. */
const connectTimeoutMs = 5_000;

/** Opens new connections every `renewMs`. */
export function renewConnections(open: OpenClient, renewMs: number): Connections {
  const start = (): Generation => ({ client: open(ownConnections), calls: 0 });
  const retired = new Set<Generation>();
  let current = start();
  let next: Generation | undefined;

  const closeIfUnused = (generation: Generation) => {
    if (generation.calls === 0 && retired.delete(generation)) generation.client.close();
  };
  const renew = () => {
    if (next !== undefined) return;
    const candidate = start();
    next = candidate;
    candidate.client.waitForReady(Date.now() + connectTimeoutMs, (err) => {
      // The candidate was closed meanwhile.
      if (next !== candidate) return;
      next = undefined;
      // No replica is reachable now, so new connections would be no better than the present ones.
      if (err) return candidate.client.close();
      const old = current;
      current = candidate;
      retired.add(old);
      closeIfUnused(old);
    });
  };
  const timer = setInterval(renew, renewMs).unref();

  return {
    use: () => {
      const generation = current;
      generation.calls++;
      return {
        client: generation.client,
        release: () => {
          generation.calls--;
          closeIfUnused(generation);
        },
      };
    },
    close: () => {
      clearInterval(timer);
      for (const { client } of [current, ...retired, ...(next === undefined ? [] : [next])]) client.close();
      retired.clear();
      next = undefined;
    },
  };
}

/** The default of `renewConnections`. */
export const renewMsDefault = 30_000;
