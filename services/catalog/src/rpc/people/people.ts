/** The RPCs of the people who have signed in. */

import { isConfined } from '@datahub/contract/withheld';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import { endAgents } from '../../agents/agent.ts';
import { type Catalog, notFound, remove, update } from '../../catalog.ts';
import { requireNoStronger } from '../../key-delegation.ts';
import { keyLimits } from '../../key-limits.ts';
import { listPage } from '../../pagination.ts';
import { grantsOf } from '../../people/acting.ts';
import type { GrantDoc, PersonDoc, SessionDoc } from '../../people/documents.ts';
import { rolesOf } from '../../people/person.ts';
import { endOf, endSessions, sessionsOf } from '../../people/session.ts';
import { toPerson, toSession } from '../../people/to-proto.ts';
import { settlePersonWatches } from '../../watches/key-watches.ts';
import { auditEntry } from '../audit.ts';
import { loadCaller, reachOf } from '../key-access.ts';
import { reachOfGrant } from './grants.ts';

/** More than a person can have. */
const agentsOfPersonMax = 100;

export function createPeopleCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    listPeople: async (page, ctx) => {
      const principal = requirePrincipal(ctx);
      requireWholeAccount(principal);
      const { accountId } = principal;
      const { docs, total } = await listPage(store.people, { accountId }, page);
      return { people: await toPeople(catalog, docs, await grantsOf(catalog, accountId)), total };
    },

    getOwnPerson: async (_request, ctx) => {
      const { accountId, person: acting } = requirePrincipal(ctx);
      const person = acting === undefined ? null : await store.people.get(accountId, acting.id);
      if (person === null)
        throw new HubError('NOT_FOUND', 'No person is signed in; the request came with a key.');
      const nowMs = catalog.nowMs();
      const sessions = (await sessionsOf(catalog, person)).filter((one) => endOf(one) > nowMs);
      return {
        person: toPerson(person, await grantsOf(catalog, accountId), nowMs),
        sessions: sessions.map(toSession),
      };
    },

    updatePerson: async ({ personId, disabled, ...expected }, ctx) => {
      const load = await loaderOf(catalog, ctx, personId);
      const person = await update<PersonDoc>(catalog, {
        collection: store.people,
        load,
        change: (doc) => withDisabled(doc, disabled),
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'updatePerson', resourceId: personId }),
      });
      if (disabled) await endWork(catalog, person, await sessionsOf(catalog, person));
      return { person: toPerson(person, await grantsOf(catalog, person.accountId), catalog.nowMs()) };
    },

    deletePerson: async ({ personId, ...expected }, ctx) => {
      const load = await loaderOf(catalog, ctx, personId);
      const person = await load();
      const sessions = await sessionsOf(catalog, person);
      await remove({
        collection: store.people,
        load,
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'deletePerson', resourceId: personId }),
      });
      await endWork(catalog, person, sessions);
      await catalog.leftovers.finish(`agents of ${personId}`, () =>
        endAgents(catalog, { accountId: person.accountId, where: { personId } }),
      );
      return {};
    },

    endSessions: async ({ personId, agents }, ctx) => {
      const { accountId, person: acting } = requirePrincipal(ctx);
      const isOwn = personId === undefined || personId === acting?.id;
      if (isOwn && acting === undefined) throw notFound('person');
      const person = isOwn
        ? { accountId, id: acting?.id ?? '' }
        : await (await loaderOf(catalog, ctx, personId))();
      const [first, ...others] = await sessionsOf(catalog, person);
      const agentsEnded = agents ? await disconnectAgents(catalog, ctx, person.id) : 0;
      if (first === undefined) return { ended: 0, agentsEnded };
      const companion = auditEntry(catalog, ctx, { rpc: 'endSessions', resourceId: person.id });
      const isEnded = await store.sessions.delete(accountId, first.id, { companion });
      return { ended: Number(isEnded) + (await endSessions(catalog, others)), agentsEnded };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

function withDisabled(person: PersonDoc, disabled: boolean): PersonDoc {
  const { disabled: was, ...doc } = person;
  if ((was === 1) === disabled) return person;
  return disabled ? { ...doc, disabled: 1 } : doc;
}

/** Ends the sessions of a person, and pauses the watches of the person. */
async function endWork(catalog: Catalog, person: PersonDoc, sessions: SessionDoc[]): Promise<void> {
  await catalog.leftovers.finish(`sessions of ${person.id}`, () => endSessions(catalog, sessions));
  await settlePersonWatches(catalog, person);
}

/** The roles of each are looked for among all grants. */
const toPeople = ({ nowMs }: Catalog, docs: PersonDoc[], grants: GrantDoc[]) =>
  inGroups(docs, 1, (person) => toPerson(person, grants, nowMs()));

/** Each with an entry in the audit. */
async function disconnectAgents(catalog: Catalog, ctx: CallContext, personId: string): Promise<number> {
  const { agents } = catalog.store;
  const { accountId } = requirePrincipal(ctx);
  let ended = 0;
  for (const { id } of await agents.findSummaries({
    accountId,
    where: { personId },
    limit: agentsOfPersonMax,
  })) {
    const companion = auditEntry(catalog, ctx, { rpc: 'deleteAgent', resourceId: id });
    if (await agents.delete(accountId, id, { companion })) ended++;
  }
  return ended;
}

export function requireWholeAccount({ limits }: Principal): void {
  if (limits !== undefined && (isConfined(limits) || keyLimits.context.isPinned(limits)))
    throw new HubError(
      'SCOPE_DENIED',
      'People belong to the account. This needs a role in all hubs, or a key without hubIds, queryIds, queries and context.',
    );
}

/** Loads a person who may do no more than the caller. */
async function loaderOf(
  catalog: Catalog,
  ctx: CallContext,
  personId: string,
): Promise<() => Promise<PersonDoc>> {
  const principal = requirePrincipal(ctx);
  requireWholeAccount(principal);
  const reach = reachOf(principal, await loadCaller(catalog, principal));
  return async () => {
    const person = await catalog.store.people.get(principal.accountId, personId);
    if (person === null) throw notFound('person');
    const held = rolesOf(person, await grantsOf(catalog, person.accountId), catalog.nowMs());
    for (const { role, hubIds } of held)
      requireNoStronger(reach, reachOfGrant({ role, ...(hubIds ? { hubIds: [...hubIds] } : {}) }));
    return person;
  };
}
