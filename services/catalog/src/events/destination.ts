/** Destinations: pure rules, and who may see, name and change them. */

import { randomBytes } from 'node:crypto';
import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import type { FieldPath } from '@datahub/contract/validation-error';
import { eventTypes, isEventType } from '@datahub/contract/watches';
import type { Destination, DestinationSettings } from '@datahub/proto/catalog/v1/watches';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { SealBinding } from '@datahub/sealing/envelope';
import { HubError } from '@datahub/service-kit/call/error';
import { createChecker } from '../check.ts';
import { hasOwnRows, isLimitedToQueries, keyLimits } from '../key-limits.ts';
import type { DestinationDoc } from './documents.ts';

export type CheckedDestination = Pick<
  DestinationDoc,
  'label' | 'url' | 'mailTo' | 'template' | 'hubIds' | 'events' | 'disabled'
>;

const urlCharactersMax = 2_000;

export function checkDestination(settings: DestinationSettings): CheckedDestination {
  const check = createChecker();
  const { hubIds, template, events } = settings;
  const checked: Complete<CheckedDestination> = {
    label: check.label(['label'], settings.label),
    url: settings.url,
    mailTo: settings.mailTo,
    template: template === undefined ? undefined : check.oneOf(['template'], template, ['slack'] as const),
    hubIds: hubIds.length === 0 ? undefined : hubIds,
    events: events.filter(isEventType),
    disabled: Number(settings.disabled),
  };
  const fault = settings.mailTo === undefined ? faultOfUrl(settings.url) : faultBesideMail(settings);
  if (fault !== undefined) check.fault(...fault);
  for (const [i, type] of events.entries())
    if (!isEventType(type)) check.fault(['events', i], `must be one of ${eventTypes.join(', ')}`);
  check.done();
  return withoutUndefined<CheckedDestination>(checked);
}

/** One address, as in `a@example.com`, without a name, quotes or a list. */
const mailShape = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?$/i;

function faultBesideMail({ mailTo = '', url, template }: DestinationSettings): Fault | undefined {
  if (url !== '') return [['url'], 'must be absent beside mailTo'];
  if (template !== undefined) return [['template'], 'must be absent beside mailTo'];
  if (mailShape.test(mailTo)) return undefined;
  // Whether the operator's server takes others (SMTPUTF8) is known only when a mail is sent.
  const detail = /\P{ASCII}/u.test(mailTo)
    ? 'must be in ASCII, because not all mail servers accept other characters. Write a domain such as bücher.example as xn--bcher-kva.example'
    : 'must be a mail address such as a@example.com';
  return [['mailTo'], detail];
}

type Fault = [path: FieldPath, detail: string];

function faultOfUrl(text: string): Fault | undefined {
  const detail = urlDetail(text);
  return detail === undefined ? undefined : [['url'], detail];
}

function urlDetail(text: string): string | undefined {
  const url = text.length <= urlCharactersMax ? URL.parse(text) : null;
  // A URL parser drops line breaks and encodes blanks, so the address would not be the one that is shown.
  if (/[\s\p{Cc}]/u.test(text)) return 'must have no blanks and no control characters';
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an address that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must have no user and no password';
  return url.hash === '' ? undefined : 'must have no fragment';
}

const secretBytes = 24;

/** A secret in the form of Standard Webhooks. */
export const createSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

/** The secret can be opened for this destination alone. */
export const secretBinding = (destinationId: string): SealBinding => ({
  sourceId: destinationId,
  engine: 'webhook',
  host: '',
  port: 0,
  tlsMode: '',
  field: 'password',
});

/** Throws SCOPE_DENIED for a key that may not change what goes to a destination of these hubs. */
export function requireMayManage({ limits }: Principal, { hubIds }: Pick<DestinationDoc, 'hubIds'>): void {
  requireUnpinned(limits);
  for (const hubId of hubIds ?? []) keyLimits.hubIds.require(limits, hubId);
  if (hubIds === undefined && keyLimits.hubIds.ids(limits) !== undefined)
    throw new HubError(
      'SCOPE_DENIED',
      'A key that is limited to hubs may use only destinations of these hubs. Name them in hubIds.',
    );
}

function requireUnpinned(limits: Principal['limits']): void {
  const isLimited = isLimitedToQueries(limits) || hasOwnRows(limits);
  if (isLimited)
    throw new HubError(
      'SCOPE_DENIED',
      'A key with limits.queryIds, queries, context or user has no destinations.',
    );
}

export function mayManage(principal: Principal, destination: DestinationDoc): boolean {
  try {
    requireMayManage(principal, destination);
    return true;
  } catch {
    return false;
  }
}

/** Whether a watch of this hub may name the destination. */
export const mayName = ({ limits }: Principal, { hubIds }: DestinationDoc, hubId: string): boolean =>
  hubIds === undefined ? keyLimits.hubIds.ids(limits) === undefined : hubIds.includes(hubId);

/** Whoever may not manage it sees label and kind. */
export const isVisible = (principal: Principal, destination: DestinationDoc): boolean =>
  !isLimitedToQueries(principal.limits) &&
  (destination.hubIds === undefined
    ? keyLimits.hubIds.ids(principal.limits) === undefined
    : destination.hubIds.some((hubId) => keyLimits.hubIds.isAllowed(principal.limits, hubId)));

export function toDestination(doc: DestinationDoc, { whole }: { whole: boolean }): Complete<Destination> {
  const { label, url, mailTo, template, hubIds = [], events, disabled } = doc;
  const settings: Complete<DestinationSettings> = {
    label,
    url: whole ? url : '',
    mailTo: mailTo === undefined || whole ? mailTo : '',
    template,
    hubIds,
    events,
    disabled: disabled === 1,
  };
  return {
    destinationId: doc.id,
    settings,
    disabledBecause: doc.disabledBecause,
    failingSince: doc.failingSince === undefined ? undefined : new Date(doc.failingSince),
    createdAt: new Date(doc.createdAt),
    updatedAt: doc.updatedAt === null ? undefined : new Date(doc.updatedAt),
    confirmedAt: doc.confirmedAt === undefined ? undefined : new Date(doc.confirmedAt),
    version: doc.version,
    whole,
  };
}
