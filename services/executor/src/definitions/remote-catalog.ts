/**
 * The catalog when it runs apart: every replica is followed, because any of them may answer a change, and each request
 * goes to the next one that can be reached.
 */

import { lookup } from 'node:dns/promises';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import type { Catalog } from '../service.ts';
import { type CatalogWatch, type WatchOptions, watchCatalog } from './catalog-watch.ts';

export interface RemoteCatalogOptions extends Omit<GrpcClientOptions, 'address'> {
  /** `host:port` each; a name stands for all its addresses. */
  addresses: readonly string[];
  instanceId: string;
}

export interface RemoteCatalog {
  calls: Catalog;
  /** Resolves when the first replica has answered to being followed. */
  reached: Promise<void>;
  follow(news: Pick<WatchOptions, 'letGo' | 'onLost'>): { close(): Promise<void> };
  close(): void;
}

interface Replica {
  client: GrpcClient<typeof CatalogInternalServiceService>;
  watch: CatalogWatch | undefined;
}

const lookUpEveryMs = 2_000;

export async function openRemoteCatalog(options: RemoteCatalogOptions): Promise<RemoteCatalog> {
  const replicas = new Map<string, Replica>();
  let news: Pick<WatchOptions, 'letGo' | 'onLost'> | undefined;
  const reached = Promise.withResolvers<void>();

  const add = (address: string) => {
    const serverName = options.serverName ?? hostOf(options.addresses[0] ?? '');
    const client = createGrpcClient(CatalogInternalServiceService, { ...options, address, serverName });
    replicas.set(address, { client, watch: watchReplica(client) });
  };
  const watchReplica = ({ calls }: Replica['client']) =>
    news &&
    watchCatalog({
      catalog: calls,
      instanceId: options.instanceId,
      ...news,
      onOpen: reached.resolve,
      random: Math.random,
    });
  const update = async () => {
    const found = await lookUp(options.addresses);
    // A name that cannot be looked up now says nothing of the replicas behind it.
    if (found.size === 0) return;
    for (const address of found) if (!replicas.has(address)) add(address);
    for (const [address, replica] of replicas) {
      if (found.has(address)) continue;
      replicas.delete(address);
      await shut(replica);
    }
  };

  await update();
  const timer = setInterval(() => void update(), lookUpEveryMs);
  timer.unref();

  return {
    calls: createFailover(replicas),
    reached: reached.promise,
    follow: (listeners) => {
      news = listeners;
      for (const replica of replicas.values()) replica.watch ??= watchReplica(replica.client);
      return {
        close: async () => {
          news = undefined;
          await Promise.all([...replicas.values()].map(({ watch }) => watch?.close()));
        },
      };
    },
    close: () => {
      clearInterval(timer);
      for (const replica of replicas.values()) replica.client.close();
    },
  };
}

/** Tries the replicas in turn, each once, as long as none can be reached. */
function createFailover(replicas: ReadonlyMap<string, Replica>): Catalog {
  let turn = 0;
  const call = async <T>(
    ctx: CallContext,
    ask: (calls: Replica['client']['calls']) => Promise<T>,
  ): Promise<T> => {
    const candidates = [...replicas.values()];
    let failure: unknown = new HubError('UNAVAILABLE', 'The catalog cannot be reached. Try again.', {
      retryable: true,
    });
    for (let i = 0; i < candidates.length && !ctx.signal.aborted; i++) {
      try {
        return await ask((candidates[turn++ % candidates.length] as Replica).client.calls);
      } catch (err) {
        if (!(err instanceof HubError) || err.code !== 'UNAVAILABLE') throw err;
        failure = err;
      }
    }
    throw failure;
  };
  return {
    resolveQuery: (request, ctx) => call(ctx, (calls) => calls.resolveQuery(request, ctx)),
    resolveSource: (request, ctx) => call(ctx, (calls) => calls.resolveSource(request, ctx)),
    saveSignature: (request, ctx) => call(ctx, (calls) => calls.saveSignature(request, ctx)),
    listSealed: (request, ctx) => call(ctx, (calls) => calls.listSealed(request, ctx)),
    reseal: (request, ctx) => call(ctx, (calls) => calls.reseal(request, ctx)),
  };
}

async function shut({ client, watch }: Replica): Promise<void> {
  await watch?.close();
  client.close();
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

async function lookUp(addresses: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const address of addresses) {
    const port = address.slice(address.lastIndexOf(':') + 1);
    const answers = await lookup(hostOf(address), { all: true, family: 4 }).catch(() => []);
    for (const { address: ip } of answers) found.add(`${ip}:${port}`);
  }
  return found;
}
