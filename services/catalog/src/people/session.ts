/** Sessions of people: how they begin, work and end. */

import type { AuthenticateResponse } from '@datahub/proto/catalog/v1/catalog';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import { keyOfPerson, loadRoles, principalOf } from './acting.ts';
import type { PersonDoc, SessionDoc } from './documents.ts';

const sessionMs = 12 * 3_600_000;
/** A session that nobody uses ends earlier. */
const idleMs = 3_600_000;
/** The resolution of `lastUsedAt`, so that not every use writes. */
const usedStepMs = 60_000;
/** Of one person; the oldest end first. */
const sessionsMax = 20;

export interface MadeSession {
  doc: SessionDoc;
  /** The key of the session; kept nowhere. */
  secret: string;
}

export function makeSession(catalog: Catalog, person: PersonDoc, providerSession?: string): MadeSession {
  const secret = createApiKey();
  const nowMs = catalog.nowMs();
  const doc: SessionDoc = {
    id: catalog.createId('sess', nowMs),
    accountId: person.accountId,
    version: 1,
    hash: hashApiKey(secret),
    personId: person.id,
    ...(providerSession === undefined ? {} : { providerSession }),
    createdAt: nowMs,
    expiresAt: nowMs + sessionMs,
    lastUsedAt: nowMs,
  };
  return { doc, secret };
}

export const endOf = ({ expiresAt, lastUsedAt }: SessionDoc): number =>
  Math.min(expiresAt, lastUsedAt + idleMs);

/** Undefined if no session has the hash. Throws KEY_EXPIRED, and KEY_INVALID for a person who is out. */
export async function authenticateSession(
  catalog: Catalog,
  hash: string,
): Promise<AuthenticateResponse | undefined> {
  const session = await catalog.store.sessions.getUnique('hash', hash);
  if (session === null) return undefined;
  const nowMs = catalog.nowMs();
  if (endOf(session) <= nowMs) throw new HubError('KEY_EXPIRED', 'This session has ended. Sign in again.');
  const { person } = await loadRoles(catalog, session.accountId, session.personId);
  const principal = await principalOf(catalog, keyOfPerson(person));
  if (nowMs - session.lastUsedAt >= usedStepMs) {
    // Without a retry, because a concurrent call writes the same.
    const used = { ...session, lastUsedAt: nowMs, version: session.version + 1 };
    await catalog.store.sessions.replace(used).catch(() => false);
  }
  return { principal, expiresAt: new Date(session.expiresAt) };
}

export const sessionsOf = (
  { store }: Catalog,
  { accountId, id }: Pick<PersonDoc, 'accountId' | 'id'>,
): Promise<SessionDoc[]> =>
  store.sessions.find({ accountId, where: { personId: id }, limit: 10 * sessionsMax });

/** Ends the oldest sessions beyond the most that a person can have. */
export async function endOldest(catalog: Catalog, person: PersonDoc): Promise<void> {
  const sessions = await sessionsOf(catalog, person);
  await endSessions(catalog, sessions.slice(0, -sessionsMax));
}

/** Resolves to how many were there to end. */
export async function endSessions(
  { store }: Catalog,
  sessions: readonly Pick<SessionDoc, 'accountId' | 'id'>[],
): Promise<number> {
  const ended = await Promise.all(sessions.map(({ accountId, id }) => store.sessions.delete(accountId, id)));
  return ended.filter(Boolean).length;
}
