/** What the hub says of its own queries, sources, keys and jobs. */

import { type CompanionWrite, insertIfNew } from '@datahub/document-store';
import type { QueryDoc } from '../documents.ts';
import { stampOf } from '../query-version.ts';
import { eventRecords, makeEvent, type NewEvent, type Teller } from './event.ts';

interface HubEvent extends Omit<NewEvent, 'dataJson'> {
  data: object;
}

/** The event and its deliveries, to be written in one step with what they are about. */
export async function hubEvent(catalog: Teller, { data, ...event }: HubEvent): Promise<CompanionWrite[]> {
  return eventRecords(catalog, await makeEvent(catalog, { ...event, dataJson: JSON.stringify(data) }), []);
}

type QueryEvent = Extract<HubEvent['type'], `query.${string}`>;

export function queryEvent(
  catalog: Teller,
  query: QueryDoc,
  { type, more }: { type: QueryEvent; more: object },
): Promise<CompanionWrite[]> {
  const { id: queryId, accountId, hubId, label, path } = query;
  const data = { queryId, label, path, version: stampOf(query).number, ...more };
  return hubEvent(catalog, { accountId, hubId, type, data });
}

/** The query has a new version, which is the one that is executed. */
export const published = (catalog: Teller, query: QueryDoc): Promise<CompanionWrite[]> =>
  queryEvent(catalog, query, { type: 'query.published', more: { keyId: query.stamp?.keyId } });

/** Longer than anything is announced before it happens. */
const announcedMs = 60 * 86_400_000;

/** Says it once, whoever says it again. */
export async function sayOnce(catalog: Teller, topic: string, event: HubEvent): Promise<void> {
  const { announcements } = catalog.store;
  const { accountId } = event;
  if ((await announcements.get(accountId, topic)) !== null) return;
  const expiresAt = catalog.nowMs() + announcedMs;
  const said = await hubEvent(catalog, event);
  await insertIfNew(announcements, { id: topic, accountId, version: 1, expiresAt }, said);
}
