/** What the hub says, as documents that are written in one step with what they are about. */

import { createHash } from 'node:crypto';
import type { EventType } from '@datahub/contract/watches';
import type { CompanionWrite } from '@datahub/document-store';
import { createFixedId } from '@datahub/service-kit/id';
import type { Catalog } from '../catalog.ts';
import { bodyOf } from './body.ts';
import type { DeliveryDoc, DestinationDoc, EventDoc } from './documents.ts';
import { newestEventId } from './event-clock.ts';
import { trimNowAndThen } from './kept-bytes.ts';

/** The parts that telling an event uses. */
export type Teller = Pick<Catalog, 'store' | 'createId' | 'nowMs' | 'namespace' | 'pace' | 'eventClock'>;

export interface NewEvent {
  accountId: string;
  hubId: string | null;
  type: EventType;
  /** A JSON object. */
  dataJson: string;
}

export async function makeEvent(
  catalog: Teller,
  { accountId, hubId, type, dataJson }: NewEvent,
): Promise<EventDoc> {
  const at = catalog.nowMs();
  const idMs = catalog.eventClock.next(await newestEventId(catalog.store, accountId));
  const id = catalog.createId('evt', idMs);
  return { id, accountId, version: 1, type, at, hubId, dataJson, size: dataJson.length };
}

/** Destinations of an account. */
export const destinationsMax = 100;

/**
 * The event and its deliveries. `to`: destinations that a watch names, besides those that want events of this type.
 */
export async function eventRecords(
  catalog: Teller,
  event: EventDoc,
  to: readonly string[],
): Promise<CompanionWrite[]> {
  const { accountId } = event;
  const all = await catalog.store.destinations.find({ accountId, limit: destinationsMax });
  const wanting = all.filter((one) => to.includes(one.id) || one.events.includes(event.type));
  const deliveries = wanting.flatMap((destination) => {
    if (mayTell(destination, event.hubId))
      return {
        ...makeDelivery(catalog, destination, event),
        dueAt: catalog.pace.nextAt(accountId, event.at),
      };
    return misses(destination, event.hubId) ? missed(makeDelivery(catalog, destination, event)) : [];
  });
  await trimNowAndThen(catalog.store.events, accountId, [event]);
  await trimNowAndThen(catalog.store.deliveries, accountId, deliveries);
  return [...deliveries.map(deliveryRecord), { collection: 'events', doc: event }];
}

export const deliveryRecord = (doc: DeliveryDoc): CompanionWrite => ({ collection: 'deliveries', doc });

/** Whether a destination may be told what happens in a hub. */
export const mayTell = ({ hubIds, disabled, ...mail }: DestinationDoc, hubId: string | null): boolean =>
  !disabled &&
  (mail.mailTo === undefined || mail.confirmedAt !== undefined) &&
  (hubIds === undefined || (hubId !== null && hubIds.includes(hubId)));

/** Whether a destination would be told, had the hub not disabled it. */
const misses = (destination: DestinationDoc, hubId: string | null): boolean =>
  destination.disabledBecause !== undefined &&
  destination.mailEndedAt === undefined &&
  mayTell({ ...destination, disabled: 0 }, hubId);

export const disabledError = 'The destination is disabled.';

/** It can be sent again when the destination is enabled. */
const missed = (delivery: DeliveryDoc): DeliveryDoc => ({
  ...delivery,
  state: 'failed',
  error: disabledError,
  dueAt: null,
  endedAt: delivery.createdAt,
});

const keptMs = 30 * 86_400_000;

/** Its id is derived from the event and the destination, and is the same in each attempt. */
export function makeDelivery(
  { namespace, mail }: Pick<Catalog, 'namespace' | 'mail'>,
  destination: DestinationDoc,
  event: Pick<EventDoc, 'id' | 'at' | 'hubId' | 'dataJson'> & { type: string },
): DeliveryDoc {
  const { id: destinationId, accountId, template, mailTo } = destination;
  const seed = createHash('sha256').update(`${event.id} ${destinationId}`).digest();
  const body = bodyOf(mailTo === undefined ? template : 'mail', event, mail?.url);
  return {
    id: createFixedId({ namespace, kind: 'dlv', atMs: event.at }, seed),
    accountId,
    version: 1,
    destinationId,
    eventId: event.id,
    hubId: event.hubId,
    type: event.type,
    body,
    size: body.length,
    ...(mailTo === undefined ? {} : { mail: 1 }),
    state: 'pending',
    attempts: 0,
    dueAt: event.at,
    createdAt: event.at,
    endedAt: null,
    expiresAt: event.at + keptMs,
  };
}
