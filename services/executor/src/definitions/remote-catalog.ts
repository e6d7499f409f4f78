/**
 * The catalog over gRPC. The executor watches every replica, because any of them may process a change. It sends each
 * request to the next reachable replica.
 */

import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import { openReplicas } from '@datahub/service-kit/grpc/replicas';
import type { SlotBook } from '../slots/slot-book.ts';
import { handOver, leaseSlots, type SlotStream } from '../slots/slot-stream.ts';
import { type CatalogWatch, type WatchOptions, watchCatalog } from './catalog-watch.ts';
import type { Catalog } from './definition.ts';

export interface RemoteCatalogOptions extends Omit<GrpcClientOptions, 'address'> {
  /** Each is `host:port`. A host name stands for all its addresses. */
  addresses: readonly string[];
  instanceId: string;
}

export interface RemoteCatalog {
  calls: Catalog;
  /** Resolves when the first replica has answered a watch. */
  reached: Promise<void>;
  follow(listeners: Pick<WatchOptions, 'invalidate' | 'onDeleted' | 'onLost'>): { close(): Promise<void> };
  /** Leases slots over a stream to each replica. `close` says that this executor stops and holds nothing. */
  leaseSlots(book: SlotBook): { close(): Promise<void> };
  close(): void;
}

interface Replica {
  client: GrpcClient<typeof CatalogInternalServiceService>;
  watch: CatalogWatch | undefined;
  slots: SlotStream | undefined;
}

export async function openRemoteCatalog(options: RemoteCatalogOptions): Promise<RemoteCatalog> {
  let listeners: Pick<WatchOptions, 'invalidate' | 'onDeleted' | 'onLost'> | undefined;
  const reached = Promise.withResolvers<void>();
  const watchReplica = ({ calls }: Replica['client']) =>
    listeners &&
    watchCatalog({
      catalog: calls,
      instanceId: options.instanceId,
      ...listeners,
      onMessage: reached.resolve,
      random: Math.random,
    });
  let book: SlotBook | undefined;
  const leaseFrom = ({ calls }: Replica['client']) =>
    book && leaseSlots({ catalog: calls, instanceId: options.instanceId, book, random: Math.random });
  const replicas = await openReplicas<Replica>({
    addresses: options.addresses,
    open: (address, host) => {
      const serverName = options.serverName ?? host;
      const client = createGrpcClient(CatalogInternalServiceService, {
        ...options,
        address,
        serverName,
        liveness: 'keepalive',
      });
      return { client, watch: watchReplica(client), slots: leaseFrom(client) };
    },
    close: ({ client, watch, slots }) => {
      // The client is closed after the streams have ended.
      void Promise.all([watch?.close(), slots?.close()]).finally(() => client.close());
    },
  });

  return {
    calls: createFailover(replicas.current),
    reached: reached.promise,
    follow: (given) => {
      listeners = given;
      for (const replica of replicas.current.values()) replica.watch ??= watchReplica(replica.client);
      return {
        close: async () => {
          listeners = undefined;
          await Promise.all([...replicas.current.values()].map(({ watch }) => watch?.close()));
        },
      };
    },
    leaseSlots: (given) => {
      book = given;
      for (const replica of replicas.current.values()) replica.slots ??= leaseFrom(replica.client);
      return {
        close: async () => {
          const streams = () =>
            [...replicas.current.values()].flatMap(({ slots }) => (slots === undefined ? [] : [slots]));
          await handOver(streams);
          book = undefined;
          await Promise.all(streams().map((slots) => slots.close()));
        },
      };
    },
    close: replicas.close,
  };
}

/** Tries the replicas round-robin, each once, until one is reachable. */
function createFailover(replicas: ReadonlyMap<string, Replica>): Catalog {
  let turn = 0;
  const call = async <T>(
    ctx: CallContext,
    send: (calls: Replica['client']['calls']) => Promise<T>,
  ): Promise<T> => {
    const candidates = [...replicas.values()];
    let failure: unknown = new HubError('UNAVAILABLE', 'The catalog cannot be reached. Try again.', {
      retryable: true,
    });
    for (let i = 0; i < candidates.length && !ctx.signal.aborted; i++) {
      try {
        return await send((candidates[turn++ % candidates.length] as Replica).client.calls);
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
    resolveDraft: (request, ctx) => call(ctx, (calls) => calls.resolveDraft(request, ctx)),
    saveSignature: (request, ctx) => call(ctx, (calls) => calls.saveSignature(request, ctx)),
    takeSourceCheck: (request, ctx) => call(ctx, (calls) => calls.takeSourceCheck(request, ctx)),
    takeLogin: (request, ctx) => call(ctx, (calls) => calls.takeLogin(request, ctx)),
    endLogin: (request, ctx) => call(ctx, (calls) => calls.endLogin(request, ctx)),
    listSealed: (request, ctx) => call(ctx, (calls) => calls.listSealed(request, ctx)),
    reseal: (request, ctx) => call(ctx, (calls) => calls.reseal(request, ctx)),
  };
}
