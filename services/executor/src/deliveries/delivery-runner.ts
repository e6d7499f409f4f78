/** Takes due deliveries from the catalog and sends them, several at a time. */

import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Opener } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { startPolling, unlessUnavailable } from '@datahub/service-kit/process/poll';
import { openSecrets } from '../credentials/destination-secrets.ts';
import type { Catalog } from '../definitions/definition.ts';
import type { Dial } from '../network/dialer.ts';
import { sendWebhook } from './send-webhook.ts';

export interface DeliveryRunner {
  /** In Prometheus' text format. */
  metrics(): string;
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
  const attempts = { delivered: 0, pending: 0, failed: 0 };
  let looked = { lagMs: 0, at: performance.now() };
  const count = (state: string | undefined): void => {
    if (state !== undefined) attempts[state as keyof typeof attempts] += 1;
  };
  const onFailure = unlessUnavailable(options.onFailure);
  const take = async (): Promise<void> => {
    const limit = runningMax - running.size;
    const ctx = createCallContext({ timeoutMs: callTimeoutMs });
    const { deliveries, lagMs } = await catalog.takeDeliveries({ limit }, ctx);
    looked = { lagMs, at: performance.now() };
    for (const delivery of deliveries) {
      const sent = send(delivery, options, closing.signal).then(count, onFailure);
      running.add(sent);
      void sent.then(() => running.delete(sent));
    }
  };
  const hasPlace = () => running.size < runningMax;
  const poll = startPolling({ everyMs: pollMs, hasPlace, take, onFailure });
  return {
    metrics: () => {
      const lagMs = looked.lagMs + Math.max(0, performance.now() - looked.at - pollMs);
      return metricsText(attempts, lagMs);
    },
    close: async () => {
      await poll.stop();
      closing.abort();
      await Promise.all(running);
    },
  };
}

/** `pending`: the attempt failed, and there will be another one. */
function metricsText(attempts: Record<string, number>, lagMs: number): string {
  const counts = Object.entries(attempts).map(([state, n]) => `${name}{state="${state}"} ${n}\n`);
  return `# TYPE ${name} counter\n${counts.join('')}# TYPE ${lagName} gauge\n${lagName} ${lagMs / 1_000}\n`;
}
const name = 'datahub_delivery_attempts_total';
const lagName = 'datahub_delivery_lag_seconds';

/** Resolves to the state of the delivery afterwards. */
async function send(
  { accountId, deliveryId, destinationId, url, body, sealedSecrets, lease }: TakenDelivery,
  { catalog, dialFor, opener, nowMs, timeoutMs = 15_000 }: DeliveryRunnerOptions,
  closing: AbortSignal,
): Promise<string | undefined> {
  const startedAt = performance.now();
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
  const ended = await openSecrets(opener, { destinationId, sealed: sealedSecrets })
    .then((secrets) => {
      const webhook = { id: deliveryId, url, body, secrets };
      return sendWebhook(webhook, { dial: dialFor(accountId), signal, nowMs });
    })
    .then(
      (status) => ({ status }),
      () => ({ error: reasonOf(signal) }),
    );
  // The lease ends by itself, and another executor sends it again.
  if (closing.aborted) return undefined;
  const durationMs = Math.round(performance.now() - startedAt);
  const ctx = createCallContext({ timeoutMs: callTimeoutMs });
  const { state } = await catalog.endDelivery({ accountId, deliveryId, lease, durationMs, ...ended }, ctx);
  return state;
}

/** A refused address looks like one that does not answer. */
const reasonOf = ({ aborted }: AbortSignal): string =>
  aborted ? 'The destination did not answer in time.' : 'The destination cannot be reached.';
