/** Checks the health of another service over `grpc.health.v1`. */

import { Client, type ClientOptions, credentials, type ServiceDefinition } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import type { GrpcClientOptions } from './client.ts';

export interface HealthProbe {
  /** False if the service is not serving, or does not answer in time. */
  serving(timeoutMs: number): Promise<boolean>;
  close(): void;
}

export function createHealthProbe(options: GrpcClientOptions): HealthProbe {
  const clientOptions: ClientOptions = {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
  };
  const client = new Client(
    options.address,
    options.credentials ?? credentials.createInsecure(),
    clientOptions,
  );
  const check = (service as unknown as ServiceDefinition).Check;
  if (check === undefined) throw new Error('The definition of the health service has no Check.');
  return {
    serving: (timeoutMs) =>
      new Promise((resolve) => {
        client.makeUnaryRequest(
          check.path,
          check.requestSerialize,
          check.responseDeserialize as (bytes: Buffer) => { status?: string },
          { service: '' },
          { deadline: Date.now() + timeoutMs },
          (err, response) => resolve(err === null && response?.status === 'SERVING'),
        );
      }),
    close: () => client.close(),
  };
}
