/**
 * The catalog over gRPC. The executor watches every replica, because any of them may process a change.
 */

import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { GrpcClient, GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import { openReplicas, type Replicas } from '@datahub/service-kit/grpc/replicas';
import {
  callReplicas,
  closeServiceReplica,
  openServiceReplica,
  type ServiceReplica,
} from '@datahub/service-kit/grpc/replicated-client';
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

interface Replica extends ServiceReplica<typeof CatalogInternalServiceService> {
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
  const leaseFrom = ({ client: { calls }, health }: Pick<Replica, 'client' | 'health'>) =>
    book && leaseSlots({ catalog: calls, health, instanceId: options.instanceId, book, random: Math.random });
  const replicas: Replicas<Replica> = await openReplicas({
    addresses: options.addresses,
    open: (address, host) => {
      const replica = openServiceReplica(CatalogInternalServiceService, () => replicas.current, {
        ...options,
        address,
        serverName: options.serverName ?? host,
        liveness: 'keepalive',
      });
      return { ...replica, watch: watchReplica(replica.client), slots: leaseFrom(replica) };
    },
    isIdle: ({ health }) => health.isIdle,
    close: (replica) => {
      // The client is closed after the streams have ended.
      void Promise.all([replica.watch?.close(), replica.slots?.close()]).finally(() =>
        closeServiceReplica(replica),
      );
    },
  });

  return {
    // The executor’s calls change nothing, or can be made twice.
    calls: callReplicas(CatalogInternalServiceService, replicas.current, () => true),
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
      for (const replica of replicas.current.values()) replica.slots ??= leaseFrom(replica);
      return {
        close: async () => {
          const streams = () =>
            [...replicas.current.values()].flatMap(({ slots }) => (slots === undefined ? [] : [slots]));
          if (given.hasLeased) await handOver(streams);
          book = undefined;
          await Promise.all(streams().map((slots) => slots.close()));
        },
      };
    },
    close: replicas.close,
  };
}
