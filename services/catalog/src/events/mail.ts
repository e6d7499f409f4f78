/**
 * Destinations that are mail addresses. The recipient confirms with a key that only the mail has, and can end it with the
 * same key. Nothing else is sent before that, unless the operator trusts the domain.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { withoutUndefined } from '@datahub/contract/complete';
import type { CompanionWrite } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { type Catalog, notFound, overtaken, untilWritten } from '../catalog.ts';
import { foldAddress } from '../people/fold-address.ts';
import { take } from '../rates/windows.ts';
import { dayMs, hourMs } from '../usage/use-counts.ts';
import { confirmationOf } from './body.ts';
import type { DeliveryDoc, DestinationDoc, MailPolicy } from './documents.ts';
import { deliveryRecord, destinationsMax, eventRecords, makeDelivery, makeEvent } from './event.ts';
import { stepMs } from './pace.ts';

type MailMembers = Pick<
  DestinationDoc,
  'mailTo' | 'mailKey' | 'confirmedAt' | 'mailEndedAt' | 'disabledBecause'
> & { disabled?: 1 };

const keyBytes = 24;

/** The members of a new address; those of the old one if it is the same. */
export function mailMembers(
  { mail, nowMs }: Pick<Catalog, 'mail' | 'nowMs'>,
  { mailTo }: Pick<DestinationDoc, 'mailTo'>,
  old?: DestinationDoc,
): MailMembers {
  if (mailTo === undefined) return {};
  if (old?.mailTo === mailTo && old.mailKey !== undefined) {
    const { mailKey, confirmedAt, mailEndedAt } = old;
    const ended = mailEndedAt === undefined ? {} : { disabled: 1 as const, disabledBecause: unsubscribed };
    return withoutUndefined<MailMembers>({ mailTo, mailKey, confirmedAt, mailEndedAt, ...ended });
  }
  const domain = foldAddress(mailTo.slice(mailTo.lastIndexOf('@') + 1));
  const isTrusted = mail?.domains.some((one) => foldAddress(one) === domain) === true;
  const mailKey = randomBytes(keyBytes).toString('hex');
  return { mailTo, mailKey, ...(isTrusted ? { confirmedAt: nowMs() } : {}) };
}

/** Throws CONFLICT for an address whose recipient ended the mails of a destination: no other one may begin them again. */
export async function requireMayMail(
  { store }: Catalog,
  { accountId, mailTo }: { accountId: string; mailTo?: string | undefined },
): Promise<void> {
  if (mailTo === undefined) return;
  const address = foldAddress(mailTo);
  const all = await store.destinations.find({ accountId, limit: destinationsMax });
  const ended = all.find((one) => one.mailEndedAt !== undefined && foldAddress(one.mailTo ?? '') === address);
  if (ended !== undefined)
    throw new HubError(
      'CONFLICT',
      `The recipient ended the mails of the destination ${ended.id}. Only the recipient can begin them again, with the link in the last mail.`,
    );
}

export const confirmType = 'destination.confirm';
const unsubscribed = 'The recipient ended the mails.';

/** Throws CONFLICT if the recipient ended the mails. Without the destination, another one could begin them again. */
export function requireNotEnded({ mailEndedAt }: DestinationDoc): void {
  if (mailEndedAt === undefined) return;
  const detail =
    'The recipient ended the mails of this destination, which stays disabled as the record of that. Only the recipient can enable it, with the link in the last mail.';
  throw new HubError('CONFLICT', detail);
}

/** Whether the recipient still has to confirm. */
export const isUnconfirmed = ({ mailTo, confirmedAt }: DestinationDoc): boolean =>
  mailTo !== undefined && confirmedAt === undefined;

/** The mail that asks the recipient. It says nothing that the account chooses, so it cannot be abused to write to strangers. */
export async function askRecipient(catalog: Catalog, destination: DestinationDoc): Promise<DeliveryDoc> {
  if (catalog.mail === undefined) throw mailIsOff();
  if (destination.mailEndedAt !== undefined) throw new HubError('CONFLICT', unsubscribed);
  await requireMayAsk(catalog, destination);
  const at = catalog.nowMs();
  const event = { id: catalog.createId('evt', at), at, hubId: null, dataJson: '{}', type: confirmType };
  const asked = makeDelivery(catalog, destination, event);
  return { ...asked, body: questionOf(catalog.mail, destination) };
}

const questionOf = (mail: MailPolicy, destination: DestinationDoc): string =>
  confirmationOf(mail.url, linkOf(mail, destination));

/** Whether this mail asks for the address that the destination has now, and the recipient has not answered. */
export const isStillAsked = (
  { mail }: Catalog,
  { body }: DeliveryDoc,
  destination: DestinationDoc,
): boolean =>
  isUnconfirmed(destination) &&
  destination.mailEndedAt === undefined &&
  mail !== undefined &&
  body === questionOf(mail, destination);

export const askRecords = async (catalog: Catalog, destination: DestinationDoc): Promise<CompanionWrite[]> =>
  isUnconfirmed(destination) ? [deliveryRecord(await askRecipient(catalog, destination))] : [];

const asksInDay = 3;

/** The end of the hour or day that a moment is in. */
const endOf = (lengthMs: number, now: number): number => now - (now % lengthMs) + lengthMs;

/** Throws RATE_LIMITED if the account has asked the same address too often today, by whichever destination. */
async function requireMayAsk(catalog: Catalog, { accountId, mailTo = '' }: DestinationDoc): Promise<void> {
  const now = catalog.nowMs();
  const endsAt = endOf(dayMs, now);
  const address = createHash('sha256').update(foldAddress(mailTo)).digest('hex');
  const id = `ask.${address}.${endsAt / dayMs}`;
  if ((await take(catalog, { accountId, id, endsAt, count: 1 })) <= asksInDay) return;
  const detail = `This recipient has been asked ${asksInDay} times today and has not agreed.`;
  throw new HubError('RATE_LIMITED', detail, { retryAfterMs: endsAt - now });
}

export const mailIsOff = () =>
  new HubError('CONFLICT', 'The operator of this hub has not set up mail (DATAHUB_MAIL_URL).');

/** Ids have no `~`. */
const separator = '~';

export const linkOf = ({ url }: MailPolicy, { accountId, id, mailKey = '' }: DestinationDoc): string =>
  `${url}/mail/${[accountId, id, mailKey].join(separator)}/`;

/**
 * Resolves to the time at which another mail may be sent, or to undefined if one may be sent now. Those that wait come one
 * after the other, so that they do not hold up deliveries of others.
 */
export async function mailWaitsUntil(catalog: Catalog, accountId: string): Promise<number | undefined> {
  const now = catalog.nowMs();
  const endsAt = endOf(hourMs, now);
  const taken = await take(catalog, { accountId, id: `mail.${endsAt / hourMs}`, endsAt, count: 1 });
  const behind = taken - (catalog.mail?.hourlyMax ?? 0);
  return behind > 0 ? endsAt + ((behind * stepMs) % hourMs) : undefined;
}

/** Throws NOT_FOUND unless the key in the token is that of the destination. */
export async function answerMail(catalog: Catalog, token: string, action: string): Promise<void> {
  const [accountId = '', id = '', key = ''] = token.split(separator);
  const { destinations } = catalog.store;
  await untilWritten(async () => {
    const destination = await destinations.get(accountId, id);
    if (destination === null || !isSame(destination.mailKey ?? '', key)) throw notFound('mail');
    const { confirmedAt, mailEndedAt, ...rest } = destination;
    const version = destination.version + 1;
    const at = catalog.nowMs();
    if (action === 'confirm') {
      if (confirmedAt !== undefined) return;
      const { disabledBecause, ...enabled } = rest;
      const isBack = disabledBecause === unsubscribed;
      const next = isBack ? { ...enabled, disabled: 0 } : rest;
      return (await destinations.replace({ ...next, confirmedAt: at, version })) ? undefined : overtaken;
    }
    if (mailEndedAt !== undefined) return;
    const next = { ...rest, disabled: 1, disabledBecause: unsubscribed, mailEndedAt: at, version };
    return (await destinations.replace(next, await disabledRecords(catalog, next))) ? undefined : overtaken;
  });
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length > 0 && a.length === b.length && timingSafeEqual(a, b);
}

/** The event of a destination that was just disabled. */
export async function disabledRecords(
  catalog: Catalog,
  destination: DestinationDoc,
): Promise<CompanionWrite[]> {
  const { id: destinationId, accountId, label, hubIds, disabledBecause: detail } = destination;
  const dataJson = JSON.stringify({ destinationId, label, detail });
  const hubId = hubIds?.[0] ?? null;
  const event = await makeEvent(catalog, { accountId, hubId, type: 'destination.disabled', dataJson });
  return eventRecords(catalog, event, []);
}
