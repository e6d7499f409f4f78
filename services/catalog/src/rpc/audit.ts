/** Who did what to which thing: never values. A change is answered only when its entry is kept. */

import { createHash } from 'node:crypto';
import type { CatalogServiceService, RecordUseRequest_Use } from '@datahub/proto/catalog/v1/catalog';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call';
import { HubError } from '@datahub/service-kit/error';
import { createFixedId } from '@datahub/service-kit/id';
import type { Catalog } from '../catalog.ts';
import type { AuditDoc } from '../documents.ts';
import { countedMs } from '../upkeep.ts';
import { listPage } from './page.ts';

type CatalogCalls = Calls<typeof CatalogServiceService>;
type Named = Record<string, unknown>;

const usesMax = 10_000;
const countMax = 4_294_967_295;
const attemptsMax = 50;
/** The store writes together what comes together, and has connections left for those who wait for an answer. */
const sideBySide = 8;
/** Of a call's time, for the answer and for what was begun. */
const reserveMs = 2_000;

/** What each changing call is, and which thing it is done to. */
const actions: { [Name in keyof CatalogCalls]?: [action: string, id: string, made?: string] } = {
  createHub: ['hub.create', 'hubId', 'hub'],
  updateHub: ['hub.update', 'hubId'],
  deleteHub: ['hub.delete', 'hubId'],
  createFolder: ['folder.create', 'nodeId', 'folder'],
  updateFolder: ['folder.update', 'nodeId'],
  deleteFolder: ['folder.delete', 'nodeId'],
  createSource: ['source.create', 'sourceId', 'source'],
  updateSource: ['source.update', 'sourceId'],
  deleteSource: ['source.delete', 'sourceId'],
  createQuery: ['query.create', 'queryId', 'query'],
  updateQuery: ['query.update', 'queryId'],
  deleteQuery: ['query.delete', 'queryId'],
  createKey: ['key.create', 'keyId', 'key'],
  rotateKey: ['key.rotate', 'keyId'],
  revokeKey: ['key.revoke', 'keyId'],
};

/** The same calls; those that change something leave an entry. */
export function audited<T extends Partial<CatalogCalls>>(catalog: Catalog, calls: T): T {
  const wrapped = Object.entries(calls).map(([name, call]) => {
    const known = actions[name as keyof CatalogCalls];
    if (known === undefined) return [name, call];
    const [action, id, made] = known;
    const run = async (request: Named, ctx: CallContext) => {
      const response: Named = await (call as (...args: unknown[]) => Promise<Named>)(request, ctx);
      const thing = made === undefined ? request : (response[made] as Named);
      await record(catalog, ctx, { action, resourceId: String(thing[id] ?? '') });
      return response;
    };
    return [name, run];
  });
  return Object.fromEntries(wrapped) as T;
}

async function record(
  catalog: Catalog,
  ctx: CallContext,
  entry: Pick<AuditDoc, 'action' | 'resourceId'>,
): Promise<void> {
  const { accountId, keyId } = requirePrincipal(ctx);
  const at = catalog.nowMs();
  await catalog.store.audit.insert({
    id: catalog.createId('evt', at),
    accountId,
    version: 1,
    at,
    keyId,
    requestId: ctx.requestId,
    count: 1,
    failed: 0,
    ...entry,
  });
}

export function createAuditCalls(catalog: Catalog): Pick<CatalogCalls, 'listAudit' | 'recordUse'> {
  const { audit } = catalog.store;
  return {
    listAudit: async ({ page, resourceId, keyId, action }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const asked = Object.entries({ resourceId, keyId, action }).filter(([, value]) => value !== undefined);
      const where = Object.fromEntries(asked) as Record<string, string>;
      const { docs, total } = await listPage(audit, { accountId, where, descending: true }, page);
      return {
        entries: docs.map(({ id, at, ...entry }) => ({ ...entry, entryId: id, at: new Date(at) })),
        total,
      };
    },

    recordUse: async ({ uses }, ctx) => {
      const { accountId, keyId } = requirePrincipal(ctx);
      if (uses.length > usesMax) throw new HubError('TOO_LARGE', `At most ${usesMax} uses at once.`);
      const at = catalog.nowMs() - (catalog.nowMs() % countedMs);
      const stopAt = ctx.deadlineAt - reserveMs;
      const left: number[] = [];
      let failure: unknown;
      /** False where it is left. */
      const isCounted = async ({ action, resourceId, count, failed }: RecordUseRequest_Use) => {
        if (ctx.signal.aborted || performance.now() >= stopAt) return false;
        const seed = createHash('sha256')
          .update(JSON.stringify([keyId, action, resourceId]))
          .digest();
        const id = createFixedId({ namespace: catalog.namespace, kind: 'evt', atMs: at }, seed);
        const first = { id, accountId, version: 1, at, keyId, action, resourceId, requestId: '' };
        try {
          await addUse(catalog, { ...first, count, failed });
          return true;
        } catch (err) {
          failure = err;
          return false;
        }
      };
      const waiting = uses.entries();
      const worker = async () => {
        for (const [place, use] of waiting) if (!(await isCounted(use))) left.push(place);
      };
      await Promise.all(Array.from({ length: sideBySide }, worker));
      if (failure !== undefined && left.length === uses.length) throw failure;
      return { left };
    },
  };
}

/** Several gateways count at once, so this repeats until its own count is in. */
async function addUse({ store }: Catalog, use: AuditDoc): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const old = await store.audit.get(use.accountId, use.id);
    if (old === null) {
      const made = await store.audit.insert(use).then(
        () => true,
        (err) => {
          if (err instanceof HubError && err.code === 'CONFLICT') return false;
          throw err;
        },
      );
      if (made) return;
      continue;
    }
    const count = Math.min(old.count + use.count, countMax);
    const failed = Math.min(old.failed + use.failed, countMax);
    if (await store.audit.replace({ ...old, count, failed, version: old.version + 1 })) return;
  }
  throw new HubError('UNAVAILABLE', 'Too many count the same thing at once. Try again.', { retryable: true });
}
