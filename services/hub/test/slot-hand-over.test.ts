import { openSlotStreams } from '@datahub/catalog/slots/slot-streams';
import { SlotBook } from '@datahub/executor/slots/slot-book';
import { handOver, leaseSlots } from '@datahub/executor/slots/slot-stream';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { createGrpcClient } from '@datahub/service-kit/grpc/client';
import { startGrpcServer } from '@datahub/service-kit/grpc/server';
import { expect, test } from 'vitest';

test('a catalog in another process answers an executor that stops once it is forgotten', async () => {
  const now = () => performance.now();
  const forgotten: string[] = [];
  const onFailure = () => {};
  const streams = await openSlotStreams({
    leaseMs: 60_000,
    servers: new Map(),
    now,
    hasEnded: () => false,
    onFailure,
    openOwner: async () => ({
      epoch: 1,
      mayGrant: true,
      isFollowing: false,
      remember: async () => {},
      update: async () => {},
      forget: async (id) => void forgotten.push(id),
      look: async () => {},
      close: async () => {},
    }),
  });
  const lease = (requests: never, { signal }: { signal: never }) => streams.lease(requests, signal);
  // No other method is called.
  const handlers = new Proxy({}, { get: () => lease });
  const services = [{ definition: CatalogInternalServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services });
  const client = createGrpcClient(CatalogInternalServiceService, { address: `127.0.0.1:${server.port}` });
  const book = new SlotBook({ now });
  const stream = leaseSlots({ catalog: client.calls, instanceId: 'e1', book, random: () => 0 });
  try {
    await expect.poll(() => stream.isOwned).toBe(true);
    await stream.leave();
    expect(forgotten).toEqual(['e1']);
    // It does not begin again.
    await handOver(() => [stream]);
    expect(forgotten).toEqual(['e1']);
  } finally {
    await stream.close();
    book.close();
    client.close();
    await streams.close();
    await server.close(0);
  }
});
