/** The RPCs that begin and end sessions, for the gateway, which speaks with the provider. */

import { cutText } from '@datahub/contract/limits';
import { insertIfNew } from '@datahub/document-store';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { SignInRequest } from '@datahub/proto/catalog/v1/people';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Catalog, insertOnce, overtaken, untilWritten } from '../../catalog.ts';
import { grantsOf } from '../../people/acting.ts';
import type { PersonDoc, SessionDoc } from '../../people/documents.ts';
import { foldAddress } from '../../people/fold-address.ts';
import { identityOf, rolesOf } from '../../people/person.ts';
import { endOldest, makeSession, sessionsOf } from '../../people/session.ts';
import { personEntry } from '../audit.ts';

const groupsMax = 1_000;
const textMax = 500;

export function createSignInCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    signIn: async (request, ctx) => {
      const accountId = await findAccount(catalog, request.account);
      const person = await untilWritten(() => notePerson(catalog, accountId, request));
      if (person.disabled)
        throw new HubError('SCOPE_DENIED', 'An admin of this hub has disabled your access. Ask an admin.');
      const roles = rolesOf(person, await grantsOf(catalog, accountId), catalog.nowMs());
      if (roles.length === 0)
        throw new HubError(
          'SCOPE_DENIED',
          'You have no role in this hub. Ask an admin to grant one to you or to a group of yours.',
        );
      const { doc, secret } = makeSession(catalog, person, request.providerSession);
      const entry = personEntry(catalog, ctx, { rpc: 'signIn', accountId, personId: person.id });
      await insertOnce(store.sessions, doc, entry);
      await endOldest(catalog, person);
      return { personId: person.id, secret, expiresAt: new Date(doc.expiresAt) };
    },

    endSignIns: async ({ keySha256, provider }, ctx) => {
      const sessions =
        keySha256 === undefined
          ? await findByProvider(catalog, provider)
          : [await store.sessions.getUnique('hash', Buffer.from(keySha256).toString('hex'))];
      let ended = 0;
      for (const session of sessions) {
        if (session === null) continue;
        const { accountId, personId } = session;
        const companion = personEntry(catalog, ctx, { rpc: 'endSignIns', accountId, personId });
        if (await store.sessions.delete(accountId, session.id, { companion })) ended++;
      }
      return { ended };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

async function findAccount({ store }: Catalog, named: string): Promise<string> {
  const account =
    (await store.accounts.getUnique('name', named === '' ? 'first' : named)) ??
    (named === '' ? null : await store.accounts.get(named, named));
  if (account === null) throw new HubError('NOT_FOUND', 'DATAHUB_OIDC_ACCOUNT names no account of this hub.');
  return account.id;
}

/** What the provider said of the person. A group or address that is too long for a grant is none that a grant names. */
export async function saidMembers(
  catalog: Catalog,
  accountId: string,
  { name, email, groups, confirmedUntil, refreshToken, refreshAt }: SignInRequest,
) {
  const nowMs = catalog.nowMs();
  return {
    groups: await keptGroups(catalog, accountId, groups),
    name: cutText(name, textMax).toWellFormed(),
    confirmedUntil: confirmedUntil?.getTime() ?? nowMs,
    ...(email === undefined || email.length > textMax ? {} : { email: foldAddress(email) }),
    ...(refreshToken === undefined ? {} : { refreshToken: Buffer.from(refreshToken).toString('base64') }),
    refreshAt: (refreshToken && refreshAt?.getTime()) ?? null,
  };
}

/** Of too many groups, those that have a role are kept first. */
async function keptGroups(catalog: Catalog, accountId: string, groups: string[]): Promise<string[]> {
  const all = [...new Set(groups.filter((group) => group.length <= textMax && group.isWellFormed()))];
  if (all.length <= groupsMax) return all;
  const grants = await grantsOf(catalog, accountId);
  const named = new Set(grants.flatMap(({ who }) => (who.kind === 'group' ? [who.value] : [])));
  const others = all.filter((group) => !named.has(group));
  return [...all.filter((group) => named.has(group)), ...others].slice(0, groupsMax);
}

/** What the provider does not say again must not stay. */
export function withoutSaid({ email: _, ended: __, refreshToken: ___, ...kept }: PersonDoc) {
  return kept;
}

/** Stores what the provider says of the person. */
async function notePerson(
  catalog: Catalog,
  accountId: string,
  request: SignInRequest,
): Promise<PersonDoc | typeof overtaken> {
  const { people } = catalog.store;
  const nowMs = catalog.nowMs();
  const { issuer, subject } = request;
  const said = { ...(await saidMembers(catalog, accountId, request)), signedInAt: nowMs };
  const identity = identityOf(issuer, subject);
  const [old] = await people.find({ accountId, where: { identity }, limit: 1 });
  if (old !== undefined) {
    const next = { ...withoutSaid(old), ...said, version: old.version + 1, updatedAt: nowMs };
    return (await people.replace(next)) ? next : overtaken;
  }
  const id = catalog.createId('prsn', nowMs);
  using _room = await catalog.quota.requireRoom(people, { accountId, id }, 'people');
  const person = { id, accountId, version: 1, issuer, subject, identity, createdAt: nowMs, updatedAt: null };
  const made: PersonDoc = { ...person, ...said };
  return (await insertIfNew(people, made)) ? made : overtaken;
}

interface NamedByProvider {
  account: string;
  issuer: string;
  subject?: string | undefined;
  providerSession?: string | undefined;
  begunBefore?: Date | undefined;
}

async function findByProvider(catalog: Catalog, named: NamedByProvider | undefined): Promise<SessionDoc[]> {
  if (named === undefined) return [];
  const { providerSession, begunBefore } = named;
  const sessions = await findNamed(catalog, named);
  return sessions.filter(
    (one) =>
      (providerSession === undefined || one.providerSession === providerSession) &&
      (begunBefore === undefined || one.createdAt < begunBefore.getTime()),
  );
}

async function findNamed(catalog: Catalog, named: NamedByProvider): Promise<SessionDoc[]> {
  const { store } = catalog;
  const { issuer, subject, providerSession } = named;
  const accountId = await findAccount(catalog, named.account);
  if (subject !== undefined) {
    const where = { identity: identityOf(issuer, subject) };
    const [person] = await store.people.find({ accountId, where, limit: 1 });
    return person === undefined ? [] : await sessionsOf(catalog, person);
  }
  if (providerSession === undefined) return [];
  return store.sessions.find({ accountId, where: { providerSession }, limit: 100 });
}
