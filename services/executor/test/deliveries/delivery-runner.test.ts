import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import { HubError } from '@datahub/service-kit/call/error';
import { expect, it } from 'vitest';
import { type DeliveryRunnerOptions, startDeliveries } from '../../src/deliveries/delivery-runner.ts';
import { sourceUnreachable } from '../../src/ports/engine.ts';

const delivery = {
  ...{ accountId: 'a', deliveryId: 'd', lease: 'l', destinationId: 'dst' },
  ...{ url: 'https://receiver.example/', body: '{}', sealedSecrets: ['sealed'] },
} as unknown as TakenDelivery;

/** The error with which the first attempt ends. */
async function errorOf(options: Pick<DeliveryRunnerOptions, 'opener' | 'dialFor'>): Promise<unknown> {
  const ended = Promise.withResolvers<unknown>();
  const deliveries = [delivery];
  const runner = startDeliveries({
    ...options,
    catalog: {
      takeDeliveries: async () => ({ deliveries: deliveries.splice(0), lagMs: 0 }),
      endDelivery: async ({ error }) => {
        ended.resolve(error);
        return { state: 'pending' };
      },
    },
    nowMs: Date.now,
    onFailure: ended.reject,
  });
  try {
    return await ended.promise;
  } finally {
    await runner.close();
  }
}

const dialFor = () => async () => {
  throw sourceUnreachable('closed');
};

it('says that the destination cannot be reached only if it was tried', async () => {
  const opener = { currentKeyId: 'k', open: async () => 'whsec_QUJD' };
  expect(await errorOf({ opener, dialFor })).toBe('The destination cannot be reached.');
});

it('says that the secret of the destination cannot be read, and what to do', async () => {
  const open = async () => {
    throw new HubError('UNAVAILABLE', 'The credentials cannot be opened.', { retryable: false });
  };
  expect(await errorOf({ opener: { currentKeyId: 'k', open }, dialFor })).toMatch(/Rotate the secret/);
});
