/** Checks the health of another service over `grpc.health.v1`. */

import { type Client, type ServiceDefinition, status } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';

/** 'silent' if there is no answer in time, 'unreachable' if there is no connection. */
export type Health = 'serving' | 'not serving' | 'silent' | 'unreachable';

export function checkHealth(client: Client, timeoutMs: number): Promise<Health> {
  const check = (service as unknown as ServiceDefinition).Check;
  if (check === undefined) throw new Error('The definition of the health service has no Check.');
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      check.path,
      check.requestSerialize,
      check.responseDeserialize as (bytes: Buffer) => { status?: string },
      { service: '' },
      { deadline: Date.now() + timeoutMs },
      (err, response) => {
        if (err?.code === status.DEADLINE_EXCEEDED) resolve('silent');
        else if (err?.code === status.UNAVAILABLE) resolve('unreachable');
        else resolve(response?.status === 'SERVING' ? 'serving' : 'not serving');
      },
    );
  });
}
