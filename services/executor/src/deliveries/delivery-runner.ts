/** Takes due deliveries from the catalog and sends them, several at a time. */

import type { TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Opener } from '@datahub/sealing/opener';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { startPolling, type Taken, unlessUnavailable } from '@datahub/service-kit/process/poll';
import { countByAccount } from '@datahub/service-kit/usage';
import { openSecrets } from '../credentials/destination-secrets.ts';
import type { Catalog } from '../definitions/definition.ts';
import type { Dial } from '../network/dialer.ts';
import type { Mailer } from './send-mail.ts';
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
  /** Undefined if the operator has set no mail server. */
  mailer?: Mailer | undefined;
  nowMs(): number;
  onFailure(err: unknown): void;
  /** Called if the operator's mail server took no mail, and did not refuse this one. */
  onMailFailure?(err: unknown): void;
  pollMs?: number;
  timeoutMs?: number;
  placeTimeoutMs?: number;
}

const runningMax = 32;
const callTimeoutMs = 10_000;
const hookTimeoutMs = 15_000;
/** Mail servers let strangers wait before each answer. */
const mailTimeoutMs = 45_000;
/** The wait for a connection to the mail server. With the attempt behind it and the call that ends it, it is within the lease. */
const placeTimeoutMsMax = 65_000;

export function startDeliveries(options: DeliveryRunnerOptions): DeliveryRunner {
  const { catalog, pollMs = 1_000 } = options;
  const closing = new AbortController();
  const running = new Map<Promise<void>, string>();
  const attempts = { delivered: 0, pending: 0, failed: 0 };
  let lagMs = 0;
  const count = (state: string | undefined): void => {
    if (state !== undefined) attempts[state as keyof typeof attempts] += 1;
  };
  const onFailure = unlessUnavailable(options.onFailure);
  const take = async (): Promise<Taken> => {
    const limit = runningMax - running.size;
    const ctx = createCallContext({ timeoutMs: callTimeoutMs });
    const { deliveries, ...lag } = await catalog.takeDeliveries(
      { limit, running: countByAccount(running.values()) },
      ctx,
    );
    lagMs = lag.lagMs;
    for (const delivery of deliveries) {
      const sent = send(delivery, options, closing.signal).then(count, onFailure);
      running.set(sent, delivery.accountId);
      void sent.then(() => running.delete(sent));
    }
    return deliveries.length > 0 ? 'more' : 'some';
  };
  const hasPlace = () => running.size < runningMax;
  const poll = startPolling({ everyMs: pollMs, hasPlace, take, onFailure });
  return {
    metrics: () => metricsText(attempts, lagMs + poll.lateMs()),
    close: async () => {
      await poll.stop();
      closing.abort();
      await Promise.all(running.keys());
      options.mailer?.close();
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

/** Resolves to the state of the delivery afterwards, or to undefined if there was no attempt. */
async function send(
  delivery: TakenDelivery,
  options: DeliveryRunnerOptions,
  closing: AbortSignal,
): Promise<string | undefined> {
  const { accountId, deliveryId, lease, mail } = delivery;
  const { catalog, timeoutMs = mail === undefined ? hookTimeoutMs : mailTimeoutMs } = options;
  const mailer = mail && options.mailer;
  // The wait is no attempt, and takes none of its time. Without a place, the lease ends by itself.
  using place = mailer && (await placeAt(mailer, { accountId, closing, options }));
  if (mailer && place === undefined) return undefined;
  const startedAt = performance.now();
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
  const sent = mail === undefined ? sendHook(delivery, options, signal) : mailTo(delivery, options, signal);
  const ended = await sent.then(
    (status) => ({ status }),
    (err) => {
      if (mailer && !closing.aborted) options.onMailFailure?.(err);
      return { error: isOwn(err) ? err.message : reasonOf(signal, mail !== undefined) };
    },
  );
  // The lease ends by itself, and another executor sends it again.
  if (closing.aborted) return undefined;
  const durationMs = Math.round(performance.now() - startedAt);
  const ctx = createCallContext({ timeoutMs: callTimeoutMs });
  const { state } = await catalog.endDelivery({ accountId, deliveryId, lease, durationMs, ...ended }, ctx);
  return state;
}

interface Waiting {
  accountId: string;
  closing: AbortSignal;
  options: DeliveryRunnerOptions;
}

/** Resolves to undefined if there is no place in time. */
function placeAt(mailer: Mailer, { accountId, closing, options }: Waiting): Promise<Disposable | undefined> {
  const { placeTimeoutMs = placeTimeoutMsMax } = options;
  const signal = AbortSignal.any([closing, AbortSignal.timeout(placeTimeoutMs)]);
  return mailer.place(accountId, signal).catch(() => undefined);
}

async function sendHook(
  { accountId, deliveryId: id, destinationId, url, body, sealedSecrets }: TakenDelivery,
  { opener, dialFor, nowMs }: DeliveryRunnerOptions,
  signal: AbortSignal,
): Promise<number> {
  const secrets = await openSecrets(opener, { destinationId, sealed: sealedSecrets }).catch((cause) => {
    throw new HubError('CONFLICT', secretUnreadable, { cause });
  });
  return sendWebhook({ id, url, body, secrets }, { dial: dialFor(accountId), signal, nowMs });
}

const secretUnreadable =
  'The hub has no key any more that reads the secret of the destination. Rotate the secret.';
const mailIsOff = new HubError('CONFLICT', 'The operator has set no mail server.');
/** A fault that is not the destination's. */
const isOwn = (err: unknown): err is HubError => err instanceof HubError && err.code === 'CONFLICT';

async function mailTo(
  { deliveryId: id, body, mail }: TakenDelivery,
  { mailer }: DeliveryRunnerOptions,
  signal: AbortSignal,
): Promise<number> {
  if (mailer === undefined || mail === undefined) throw mailIsOff;
  return mailer.send({ id, body, ...mail }, signal);
}

/** A refused address looks like one that does not answer. */
function reasonOf({ aborted }: AbortSignal, isMail: boolean): string {
  const who = isMail ? "The operator's mail server" : 'The destination';
  return `${who} ${aborted ? 'did not answer in time' : 'cannot be reached'}.`;
}
