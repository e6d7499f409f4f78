/** The RPCs of destinations and their deliveries. */

import { rotationOverlapSeconds } from '@datahub/contract/limits';
import { withScope } from '@datahub/contract/roles';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Destination, DestinationSettings } from '@datahub/proto/catalog/v1/watches';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError } from '@datahub/service-kit/call/error';
import { type Catalog, insertOnce, loadHub, makeContext, notFound, remove, update } from '../catalog.ts';
import { redeliver, testType, toDelivery } from '../events/deliveries.ts';
import {
  checkDestination,
  createSecret,
  isVisible,
  mayManage,
  requireMayManage,
  secretBinding,
  toDestination,
} from '../events/destination.ts';
import type { DeliveryDoc, DestinationDoc } from '../events/documents.ts';
import { destinationsMax, makeDelivery } from '../events/event.ts';
import {
  answerMail,
  askRecipient,
  askRecords,
  confirmType,
  isUnconfirmed,
  mailIsOff,
  mailMembers,
  requireMayMail,
  requireNotEnded,
} from '../events/mail.ts';
import { requireMayReadWatches } from '../key-limits.ts';
import { findBatches, listPage, listSome } from '../pagination.ts';
import { auditEntry } from './audit.ts';

type DestinationCalls = Calls<typeof CatalogServiceService>;

const overlapDefaultS = 86_400;
/** With the new one. Older ones end at once. */
const secretsMax = 2;
const states = ['pending', 'delivered', 'failed'];

export function createDestinationCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createDestination: createCreate(catalog),

    ...createReadCalls(catalog),

    updateDestination: createUpdate(catalog),

    deleteDestination: async ({ destinationId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      await remove({
        collection: store.destinations,
        load: async () => {
          const destination = await loadDestination(catalog, principal, destinationId);
          requireNotEnded(destination);
          return destination;
        },
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'deleteDestination', resourceId: destinationId }),
      });
      return {};
    },

    rotateDestinationSecret: async ({ destinationId, overlapSeconds = overlapDefaultS }, ctx) => {
      const principal = requirePrincipal(ctx);
      if (overlapSeconds > rotationOverlapSeconds.max)
        throw fieldError([
          { path: ['overlapSeconds'], detail: `must be at most ${rotationOverlapSeconds.max}` },
        ]);
      const secret = createSecret();
      const sealed = await catalog.seal(secret, secretBinding(destinationId));
      await update<DestinationDoc>(catalog, {
        collection: store.destinations,
        load: () => loadDestination(catalog, principal, destinationId),
        change: (doc, nowMs) => {
          const endsAt = nowMs + overlapSeconds * 1_000;
          const old = doc.secrets
            .slice(0, secretsMax - 1)
            .map((one) => ({ ...one, expiresAt: Math.min(one.expiresAt ?? endsAt, endsAt) }));
          return { ...doc, secrets: [{ sealed, expiresAt: null }, ...old] };
        },
        entry: auditEntry(catalog, ctx, { rpc: 'rotateDestinationSecret', resourceId: destinationId }),
      });
      return { secret };
    },

    ...createDeliveryCalls(catalog),

    answerMail: async ({ token, action }) => {
      await answerMail(catalog, token, action);
      return {};
    },
  } satisfies Partial<DestinationCalls>;
}

function createReadCalls({ store }: Catalog) {
  return {
    listDestinations: async (page, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayReadWatches(principal.limits);
      const isListed = (one: DestinationDoc) => isVisible(principal, one);
      const { docs, total } = await listSome(
        store.destinations,
        { accountId: principal.accountId, isListed },
        page,
      );
      return { destinations: docs.map(asSeenBy(principal)), total };
    },

    getDestination: async ({ destinationId }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayReadWatches(principal.limits);
      const destination = await store.destinations.get(principal.accountId, destinationId);
      if (destination === null || !isVisible(principal, destination)) throw notFound('destination');
      return { destination: asSeenBy(principal)(destination) };
    },
  } satisfies Partial<DestinationCalls>;
}

function asSeenBy(principal: Principal): (destination: DestinationDoc) => Destination {
  // A person by the role that may write destinations, which can count in fewer hubs.
  const manager = withScope(principal, 'destinations:write');
  return (one) => toDestination(one, { whole: manager !== undefined && mayManage(manager, one) });
}

function createCreate(catalog: Catalog): DestinationCalls['createDestination'] {
  const { store } = catalog;
  return async ({ settings }, ctx) => {
    const { principal, accountId, nowMs, createId } = makeContext(catalog, ctx);
    const checked = checkDestination(requireSettings(settings));
    await requireHubs(catalog, principal, checked);
    const id = createId('dest', nowMs);
    // By an earlier attempt, which has also asked the recipient.
    if ((await store.destinations.get(accountId, id)) !== null) throw madeBefore(id);
    await requireMayMail(catalog, { accountId, mailTo: checked.mailTo });
    const secret = createSecret();
    const sealed = await catalog.seal(secret, secretBinding(id));
    if (checked.mailTo !== undefined && catalog.mail === undefined) throw mailIsOff();
    const destination: DestinationDoc = {
      ...checked,
      ...mailMembers(catalog, checked),
      id,
      accountId,
      version: 1,
      secrets: [{ sealed, expiresAt: null }],
      createdAt: nowMs,
      updatedAt: null,
    };
    const entry = auditEntry(catalog, ctx, { rpc: 'createDestination', resourceId: id });
    const made = [entry, ...(await askRecords(catalog, destination))];
    await store.oneByOne(`${accountId} destinations`, async () => {
      if ((await store.destinations.count({ accountId })) >= destinationsMax)
        throw new HubError('QUOTA_EXCEEDED', `An account can have ${destinationsMax} destinations.`);
      if ((await insertOnce(store.destinations, destination, made)) !== destination) throw madeBefore(id);
    });
    return { destination: toDestination(destination, { whole: true }), secret };
  };
}

const madeBefore = (id: string) =>
  new HubError(
    'IDEMPOTENCY_CONFLICT',
    `The first request with this Idempotency-Key created ${id}. Its answer with the secret was lost. Rotate the secret to get a new one.`,
  );

function createUpdate(catalog: Catalog): DestinationCalls['updateDestination'] {
  const { store } = catalog;
  return async ({ destinationId, settings, ...expected }, ctx) => {
    const principal = requirePrincipal(ctx);
    const checked = checkDestination(requireSettings(settings));
    await requireHubs(catalog, principal, checked);
    const destination = await update<DestinationDoc>(catalog, {
      collection: store.destinations,
      load: () => loadDestination(catalog, principal, destinationId),
      change: (doc) => {
        const { id, accountId, version, secrets, createdAt, updatedAt, failingSince } = doc;
        const kept = { id, accountId, version, secrets, createdAt, updatedAt };
        if (isUnsigned(doc) && !checked.disabled)
          throw new HubError('CONFLICT', 'This destination has no secret. Rotate its secret first.');
        if (!checked.disabled || checked.mailTo !== doc.mailTo) requireNotEnded(doc);
        const isFailing = failingSince !== undefined && checked.url === doc.url && !doc.disabled;
        const mail = mailMembers(catalog, checked, doc);
        return { ...checked, ...mail, ...kept, ...(isFailing ? { failingSince } : {}) };
      },
      expected,
      entry: auditEntry(catalog, ctx, { rpc: 'updateDestination', resourceId: destinationId }),
      // A new address is asked.
      beside: async (doc, next) => {
        if (doc.mailKey === next.mailKey) return [];
        await requireMayMail(catalog, next);
        return askRecords(catalog, next);
      },
    });
    return { destination: toDestination(destination, { whole: true }) };
  };
}

function createDeliveryCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    testDestination: async ({ destinationId }, ctx) => {
      const destination = await loadDestination(catalog, requirePrincipal(ctx), destinationId);
      const at = catalog.nowMs();
      const dataJson = JSON.stringify({ destinationId, label: destination.label });
      const test = { id: catalog.createId('evt', at), at, hubId: null, dataJson, type: testType };
      const delivery = isUnconfirmed(destination)
        ? await askRecipient(catalog, destination)
        : makeDelivery(catalog, destination, test);
      const entry = auditEntry(catalog, ctx, { rpc: 'testDestination', resourceId: destinationId });
      await insertOnce(store.deliveries, delivery, entry);
      return { delivery: toDelivery(delivery) };
    },

    listDeliveries: async ({ destinationId, state, ...page }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      if (destinationId === undefined) requireMayManage(principal, {});
      else await loadDestination(catalog, principal, destinationId);
      if (state !== undefined && !states.includes(state))
        throw fieldError([{ path: ['state'], detail: `must be one of ${states.join(', ')}` }]);
      const where = {
        ...(destinationId === undefined ? {} : { destinationId }),
        ...(state === undefined ? {} : { state }),
      };
      const filter = { accountId, where, descending: true };
      const { docs, total } = await listPage(store.deliveries, filter, page);
      return { deliveries: docs.map(toDelivery), total };
    },

    redeliver: async ({ destinationId, deliveryId, since }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      if (deliveryId !== undefined) {
        const delivery = await store.deliveries.get(accountId, deliveryId);
        const { destinationId: of = '', type } = delivery ?? {};
        if ((await store.destinations.get(accountId, of)) === null) throw notFound('delivery');
        await loadDestination(catalog, principal, of);
        if (type === confirmType)
          throw new HubError('CONFLICT', `Only POST /v1/destinations/${of}/test asks the recipient again.`);
        return { count: Number(await redeliver(catalog, accountId, deliveryId)) };
      }
      if (destinationId === undefined) throw notFound('destination');
      await loadDestination(catalog, principal, destinationId);
      let count = 0;
      const isSince = ({ createdAt }: DeliveryDoc) => createdAt >= (since?.getTime() ?? 0);
      const all = { offset: 0, limit: redeliveredMax };
      const filter = { accountId, where: { destinationId, state: 'failed' }, descending: true };
      const stopAt = ctx.deadlineAt - reserveMs;
      for await (const batch of findBatches(store.deliveries, filter, all)) {
        const some = batch.filter(isSince).map(({ id }) => id);
        for (let i = 0; i < some.length && performance.now() < stopAt; i += sideBySide) {
          const group = some.slice(i, i + sideBySide);
          const done = await Promise.all(group.map((id) => redeliver(catalog, accountId, id)));
          count += done.filter(Boolean).length;
        }
        if (some.length < batch.length || performance.now() >= stopAt) break;
      }
      return { count };
    },
  } satisfies Partial<DestinationCalls>;
}

/** Of one call. A caller with more calls again. */
const redeliveredMax = 10_000;
/** Concurrent writes. The store batches them, and this leaves connections for calls that clients wait for. */
const sideBySide = 8;
/** The time reserved at the end of a call for writes in progress and the answer. */
const reserveMs = 2_000;

async function loadDestination(catalog: Catalog, principal: Principal, id: string): Promise<DestinationDoc> {
  const destination = await catalog.store.destinations.get(principal.accountId, id);
  if (destination === null) throw notFound('destination');
  requireMayManage(principal, destination);
  return destination;
}

async function requireHubs(
  catalog: Catalog,
  principal: Principal,
  destination: Pick<DestinationDoc, 'hubIds'>,
): Promise<void> {
  requireMayManage(principal, destination);
  for (const hubId of destination.hubIds ?? []) await loadHub(catalog, principal, hubId);
}

/** Its secret was sealed to a lost key, and was removed. */
const isUnsigned = ({ secrets, mailTo }: DestinationDoc): boolean =>
  secrets.length === 0 && mailTo === undefined;

function requireSettings(settings: DestinationSettings | undefined): DestinationSettings {
  if (settings === undefined) throw new HubError('INTERNAL', 'The call has no settings.');
  return settings;
}
