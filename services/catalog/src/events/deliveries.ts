/**
 * Deliveries: each is sent until the destination answers with 2xx, at most ten times over 75 hours (Standard Webhooks 1.0).
 * An executor leases a delivery for each attempt.
 */

import { hash, randomUUID } from 'node:crypto';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import type { EndDeliveryRequest, TakenDelivery } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Delivery } from '@datahub/proto/catalog/v1/watches';
import { type Catalog, overtaken, untilWritten } from '../catalog.ts';
import type { DeliveryDoc, DestinationDoc } from './documents.ts';
import { disabledError, mayTell } from './event.ts';
import { confirmType, disabledRecords, isStillAsked, isUnconfirmed, linkOf, mailWaitsUntil } from './mail.ts';

/** More than an attempt can take, and in front of a mail the wait for a connection to the mail server. */
const leaseMsOf = ({ mail }: Pick<DeliveryDoc, 'mail'>) => (mail === 1 ? 125_000 : 60_000);
/** The pauses after the attempts, in seconds. */
const pausesS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/** Each pause is longer or shorter by up to this share, so that deliveries that failed together are not repeated together. */
const jitter = 0.1;
const failingMsMax = 3 * 86_400_000;
const gone = 410;

/**
 * Of an account, in one executor at a time: a destination that hangs holds its place for seconds. Half of the places that
 * are free are left to others.
 */
export const deliveriesOfAccountMax = (free: number): number => Math.max(1, Math.min(8, Math.ceil(free / 2)));
/** The least pause of a delivery that finds all places of its account taken. */
const postponedMs = 1_000;

type Members = { [K in keyof DeliveryDoc]?: DeliveryDoc[K] | undefined };

function replaceDelivery({ store }: Catalog, delivery: DeliveryDoc, change: Members): Promise<boolean> {
  const version = delivery.version + 1;
  return store.deliveries.replace(withoutUndefined<DeliveryDoc>({ ...delivery, ...change, version }));
}

/** Lets deliveries of others pass. */
export function postponeDelivery(catalog: Catalog, delivery: DeliveryDoc): Promise<boolean> {
  const now = catalog.nowMs();
  const dueAt = Math.max(now + postponedMs, catalog.pace.nextAt(delivery.accountId, now));
  return replaceDelivery(catalog, delivery, { dueAt });
}

/** Clocks of several processes may differ by so much. */
export const clockSkewMsMax = 60_000;

/** Makes a delivery due now if its time is further ahead than any can be: it was set before the clock was set back. */
export async function settleDelivery(catalog: Catalog, delivery: DeliveryDoc): Promise<void> {
  const now = catalog.nowMs();
  const longestMs = delivery.lease === undefined ? longestPauseMs(delivery.attempts) : leaseMsOf(delivery);
  if (delivery.createdAt > now + clockSkewMsMax || (delivery.dueAt ?? 0) > now + longestMs + clockSkewMsMax)
    await replaceDelivery(catalog, delivery, {
      dueAt: catalog.pace.nextAt(delivery.accountId, now),
      lease: undefined,
    });
}

/** Before the first attempt, the pace of the account or two hours of mails may let it wait. */
const longestPauseMs = (attempts: number): number =>
  Math.max((pausesS[attempts - 1] ?? 0) * 1_000 * (1 + jitter), 7_200_000);

/** Resolves to undefined if another executor has it, or its destination may no longer be told. */
export async function takeDelivery(
  catalog: Catalog,
  delivery: DeliveryDoc,
): Promise<TakenDelivery | undefined> {
  const { accountId, id, destinationId, body } = delivery;
  const destination = await catalog.store.destinations.get(accountId, destinationId);
  const error = refusalOf(catalog, delivery, destination);
  if (destination === null || error !== undefined) {
    const endedAt = catalog.nowMs();
    await replaceDelivery(catalog, delivery, {
      state: 'failed',
      error,
      endedAt,
      dueAt: null,
      lease: undefined,
    });
    return undefined;
  }
  // Counted once, however often it is tried.
  const isCounted = delivery.attempts > 0 || delivery.lease !== undefined;
  const waitsUntil =
    destination.mailTo === undefined || isCounted ? undefined : await mailWaitsUntil(catalog, accountId);
  if (waitsUntil !== undefined) {
    await replaceDelivery(catalog, delivery, { dueAt: waitsUntil, lease: undefined });
    return undefined;
  }
  const now = catalog.nowMs();
  const lease = `${randomUUID()} ${placeOf(destination)}`;
  if (!(await replaceDelivery(catalog, delivery, { lease, dueAt: now + leaseMsOf(delivery) })))
    return undefined;
  const secrets = destination.secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  const sealedSecrets = secrets.map(({ sealed }) => sealed);
  const { url, mailTo: to } = destination;
  const mail =
    to === undefined || catalog.mail === undefined
      ? undefined
      : { to, unsubscribeUrl: linkOf(catalog.mail, destination) };
  return { accountId, deliveryId: id, destinationId, url, mail, body, sealedSecrets, lease };
}

/** The address of a destination, as a lease names it. */
const placeOf = ({ url, mailTo = '' }: DestinationDoc): string =>
  hash('sha256', `${mailTo} ${url}`, 'base64url');

/** False if the destination got another address, or was deleted, while the attempt was under way. */
async function isStillThere(
  { store }: Catalog,
  { accountId, destinationId }: DeliveryDoc,
  lease: string,
): Promise<boolean> {
  const destination = await store.destinations.get(accountId, destinationId);
  const [, place] = lease.split(' ');
  // Older releases named none.
  return destination !== null && (place === undefined || place === placeOf(destination));
}

export const testType = 'destination.test';

/** Why the destination, as it is now, may not be told; undefined if it may. It can have changed since the delivery was made. */
function refusalOf(
  catalog: Catalog,
  delivery: DeliveryDoc,
  destination: DestinationDoc | null,
): string | undefined {
  if (destination === null) return 'The destination was deleted.';
  const isMail = destination.mailTo !== undefined;
  if (isMail !== (delivery.mail === 1))
    return `The destination is now ${isMail ? 'a mail address' : 'an address of HTTP'}.`;
  if (delivery.type === confirmType)
    return isStillAsked(catalog, delivery, destination) ? undefined : 'This question no longer stands.';
  if (isUnconfirmed(destination)) return 'The recipient has not confirmed.';
  if (delivery.type === testType || mayTell(destination, delivery.hubId)) return undefined;
  return destination.disabled ? disabledError : 'The destination does not belong to the hub of the event.';
}

/** Resolves to the state of the delivery after the attempt, or to undefined if the lease was over. */
export async function endDelivery(
  catalog: Catalog,
  { accountId, deliveryId, lease, status, error, durationMs }: EndDeliveryRequest,
): Promise<DeliveryDoc['state'] | undefined> {
  const { store } = catalog;
  const isDelivered = status !== undefined && status >= 200 && status < 300;
  const ended = await untilWritten(async () => {
    const delivery = await store.deliveries.get(accountId, deliveryId);
    // The lease is over: another attempt is under way, or has ended.
    if (delivery?.lease !== lease) return undefined;
    const attempts = delivery.attempts + 1;
    const isThere = await isStillThere(catalog, delivery, lease);
    const pauseS = pausesS[attempts - 1];
    // A server that refuses a mail for good would refuse it again.
    const isRefused = delivery.mail === 1 && status !== undefined && status >= 500;
    // What the address said that the destination had before is none of its new one.
    const isFinal = isThere && (status === gone || isRefused);
    const isOver = isDelivered || isFinal || pauseS === undefined || delivery.type === testType;
    const now = catalog.nowMs();
    const pauseMs = (pauseS ?? 0) * 1_000 * (1 + jitter * (2 * catalog.random() - 1));
    const state: DeliveryDoc['state'] = isDelivered ? 'delivered' : isOver ? 'failed' : 'pending';
    const change: Members = {
      attempts,
      status,
      error,
      durationMs,
      lease: undefined,
      state,
      dueAt: isOver ? null : Math.round(now + pauseMs),
      endedAt: isOver ? now : null,
    };
    return (await replaceDelivery(catalog, delivery, change)) ? { delivery, state, isThere } : overtaken;
  });
  // Without an answer about this mail, it is the operator's server that did not work.
  const isOfServer = ended?.delivery.mail === 1 && status === undefined;
  const isAsked = ended?.delivery.type === testType || ended?.delivery.type === confirmType;
  if (ended?.isThere && !isAsked && !isOfServer)
    await noteAttempt(catalog, ended.delivery, { isDelivered, isGone: status === gone });
  return ended?.state;
}

/**
 * A destination that is gone, or that nothing has reached for three days in which one delivery was tried, is disabled. That
 * is an event.
 */
async function noteAttempt(
  catalog: Catalog,
  { accountId, destinationId, createdAt }: DeliveryDoc,
  { isDelivered, isGone }: { isDelivered: boolean; isGone: boolean },
): Promise<void> {
  const { destinations } = catalog.store;
  await untilWritten(async () => {
    const now = catalog.nowMs();
    const destination = await destinations.get(accountId, destinationId);
    if (destination === null || destination.disabled) return;
    const { failingSince = now, ...rest } = destination;
    const isFailing = destination.failingSince !== undefined;
    const version = destination.version + 1;
    if (isDelivered && !isFailing) return;
    if (isDelivered) return (await destinations.replace({ ...rest, version })) ? undefined : overtaken;
    const next = { ...destination, failingSince, version };
    if (isGone || now - Math.max(failingSince, createdAt) >= failingMsMax)
      return (await disable(catalog, next, isGone)) ? undefined : overtaken;
    if (!isFailing && !(await destinations.replace(next))) return overtaken;
  });
}

async function disable(catalog: Catalog, destination: DestinationDoc, isGone: boolean): Promise<boolean> {
  const because = isGone ? 'It answered with the status 410.' : 'No delivery has arrived for three days.';
  const disabled = { ...destination, disabled: 1, disabledBecause: because };
  return catalog.store.destinations.replace(disabled, await disabledRecords(catalog, disabled));
}

/**
 * Makes a delivery due now. If it has ended, its number of attempts begins anew. False if it is under way, or waits for its
 * first attempt. A recipient is asked only by what counts the questions.
 */
export async function redeliver(catalog: Catalog, accountId: string, deliveryId: string): Promise<boolean> {
  return untilWritten(async () => {
    const delivery = await catalog.store.deliveries.get(accountId, deliveryId);
    if (delivery === null || delivery.type === confirmType) return false;
    const isWaiting = delivery.state === 'pending';
    if (isWaiting && (delivery.lease !== undefined || delivery.attempts === 0)) return false;
    const dueAt = catalog.pace.nextAt(accountId, catalog.nowMs());
    const anew: Members = { state: 'pending', attempts: 0, endedAt: null, lease: undefined };
    return (await replaceDelivery(catalog, delivery, { ...(isWaiting ? {} : anew), dueAt })) || overtaken;
  });
}

export function toDelivery(doc: DeliveryDoc): Complete<Delivery> {
  return {
    deliveryId: doc.id,
    destinationId: doc.destinationId,
    eventId: doc.type === testType || doc.type === confirmType ? undefined : doc.eventId,
    type: doc.type,
    state: doc.state,
    attempts: doc.attempts,
    nextAt: doc.state === 'pending' && doc.dueAt !== null ? new Date(doc.dueAt) : undefined,
    status: doc.status,
    error: doc.error,
    durationMs: doc.durationMs,
    createdAt: new Date(doc.createdAt),
    endedAt: doc.endedAt === null ? undefined : new Date(doc.endedAt),
  };
}
