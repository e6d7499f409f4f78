import { setTimeout as wait } from 'node:timers/promises';
import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
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

it('counts no wait for a connection to the mail server as an attempt, and none of its time', async () => {
  const places = createFairSemaphore({ allMax: 1, accountMax: 1, waitingMax: Number.POSITIVE_INFINITY });
  const sendingMs = 300;
  const ends: object[] = [];
  const mail = { to: 'ann@example.org', unsubscribeUrl: 'https://hub.example/mail/token/' };
  const deliveries = ['d1', 'd2', 'd3'].map((deliveryId) => ({ ...delivery, deliveryId, mail }));
  const runner = startDeliveries({
    ...{ opener: {} as never, dialFor, nowMs: Date.now, onFailure: () => {} },
    ...{ timeoutMs: 450, placeTimeoutMs: 450 },
    mailer: {
      place: async (accountId, signal) => ({ [Symbol.dispose]: await places.acquire(accountId, signal) }),
      send: async (_, signal) => {
        await wait(sendingMs);
        signal.throwIfAborted();
        return 250;
      },
      close: () => {},
    },
    catalog: {
      takeDeliveries: async () => ({ deliveries: deliveries.splice(0), lagMs: 0 }),
      endDelivery: async ({ deliveryId, status }) => {
        ends.push({ deliveryId, status });
        return { state: 'delivered' };
      },
    },
  });
  try {
    await expect.poll(() => ends.length).toBe(2);
    await wait(sendingMs);
    // The third had no place in time.
    expect(ends).toEqual(['d1', 'd2'].map((deliveryId) => ({ deliveryId, status: 250 })));
  } finally {
    await runner.close();
  }
});

it('tells the operator of a mail server that cannot be used, and the account whose it is', async () => {
  const ended = Promise.withResolvers<unknown>();
  const failures: unknown[] = [];
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ESOCKET' });
  const mail = { to: 'ann@example.org', unsubscribeUrl: 'https://hub.example/mail/token/' };
  const deliveries = [{ ...delivery, mail }];
  const runner = startDeliveries({
    ...{ opener: {} as never, dialFor, nowMs: Date.now, onFailure: ended.reject },
    onMailFailure: (err) => failures.push(err),
    mailer: {
      place: async () => ({ [Symbol.dispose]: () => {} }),
      send: () => Promise.reject(away),
      close: () => {},
    },
    catalog: {
      takeDeliveries: async () => ({ deliveries: deliveries.splice(0), lagMs: 0 }),
      endDelivery: async ({ error }) => {
        ended.resolve(error);
        return { state: 'pending' };
      },
    },
  });
  try {
    expect(await ended.promise).toBe("The operator's mail server cannot be reached.");
    expect(failures).toEqual([away]);
  } finally {
    await runner.close();
  }
});
