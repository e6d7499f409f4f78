import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { expect, it, vi } from 'vitest';
import { createCallContext } from './call.ts';
import { HubError } from './error.ts';
import { createGrpcClient } from './grpc-client.ts';
import { startGrpcServer } from './grpc-server.ts';

it('has the log hear of a store that is away once a second, and of what nobody foresaw each time', async () => {
  const away = new HubError('UNAVAILABLE', 'The store is away.', { cause: new Error('ECONNREFUSED') });
  const broken = new TypeError('x is not a function');
  const failures = [away, away, broken, broken, new HubError('NOT_FOUND', 'There is none.'), away];
  const handlers = new Proxy({}, { get: () => async () => Promise.reject(failures.shift()) });
  const onFailure = vi.fn();
  const services = [{ definition: MlServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services, onFailure });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  try {
    while (failures.length > 0) {
      const ctx = createCallContext({ timeoutMs: 5_000 });
      await expect(client.calls.listClassifiers({ offset: 0, limit: undefined }, ctx)).rejects.toThrow();
    }
  } finally {
    client.close();
    await server.close(0);
  }
  expect(onFailure.mock.calls.map(([err]) => err)).toEqual([away, broken, broken]);
});
