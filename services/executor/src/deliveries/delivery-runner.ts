/** Takes due deliveries from the catalog and sends them, several at a time. */

import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Opener } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { startPolling, unlessUnavailable } from '@datahub/service-kit/process/poll';
import type { Catalog } from '../definitions/definition.ts';
import type { Dial } from '../network/dialer.ts';
import { sendWebhook } from './send-webhook.ts';

export interface DeliveryRunner {
  close(): Promise<void>;
}

export interface DeliveryRunnerOptions {
  catalog: Pick<Catalog, 'takeDeliveries' | 'endDelivery'>;
  dialFor(accountId: string): Dial;
  opener: Opener;
  nowMs(): number;
  onFailure(err: unknown): void;
  pollMs?: number;
  timeoutMs?: number;
}

const runningMax = 32;
const callTimeoutMs = 10_000;

export function startDeliveries(options: DeliveryRunnerOptions): DeliveryRunner {
  const { catalog, pollMs = 1_000 } = options;
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  const onFailure = unlessUnavailable(options.onFailure);
  const take = async (): Promise<void> => {
    const limit = runningMax - running.size;
    const ctx = createCallContext({ timeoutMs: callTimeoutMs });
    const { deliveries } = await catalog.takeDeliveries({ limit }, ctx);
    for (const delivery of deliveries) {
      const sent = send(delivery, options, closing.signal).catch(onFailure);
      running.add(sent);
      void sent.then(() => running.delete(sent));
    }
  };
  const hasPlace = () => running.size < runningMax;
  const poll = startPolling({ everyMs: pollMs, hasPlace, take, onFailure });
  return {
    close: async () => {
      await poll.stop();
      closing.abort();
      await Promise.all(running);
    },
  };
}

async function send(
  { accountId, deliveryId, destinationId, url, body, sealedSecrets, lease }: TakenDelivery,
  { catalog, dialFor, opener, nowMs, timeoutMs = 15_000 }: DeliveryRunnerOptions,
  closing: AbortSignal,
): Promise<void> {
  const startedAt = performance.now();
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
  const binding = {
    ...{ sourceId: destinationId, engine: 'webhook', host: '', port: 0, tlsMode: '' },
    field: 'password',
  } as const;
  const ended = await Promise.all(sealedSecrets.map((sealed) => opener.open(sealed, binding)))
    .then((secrets) => {
      const webhook = { id: deliveryId, url, body, secrets };
      return sendWebhook(webhook, { dial: dialFor(accountId), signal, nowMs });
    })
    .then(
      (status) => ({ status }),
      () => ({ error: reasonOf(signal) }),
    );
  // The lease ends by itself, and another executor sends it again.
  if (closing.aborted) return;
  const durationMs = Math.round(performance.now() - startedAt);
  const ctx = createCallContext({ timeoutMs: callTimeoutMs });
  await catalog.endDelivery({ accountId, deliveryId, lease, durationMs, ...ended }, ctx);
}

/** A refused address looks like one that does not answer. */
const reasonOf = ({ aborted }: AbortSignal): string =>
  aborted ? 'The destination did not answer in time.' : 'The destination cannot be reached.';
