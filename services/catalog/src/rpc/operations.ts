/** Records of operations that must happen at most once, for `Idempotency-Key`. */

import { createHash } from 'node:crypto';
import {
  type BeginOperationResponse,
  type CatalogServiceService,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call';
import { HubError } from '@datahub/service-kit/error';
import type { Catalog } from '../catalog.ts';
import type { OperationDoc } from '../documents.ts';

type OperationCalls = Pick<Calls<typeof CatalogServiceService>, 'beginOperation' | 'finishOperation'>;

const keptMs = 24 * 3_600_000;
/** Longer than any operation may take: a record still open then was left by a process that died. */
const openMaxMs = 300_000;

const nothing = {
  recordId: '',
  status: 0,
  contentType: '',
  body: Buffer.alloc(0),
  kept: false,
  note: '',
  etag: '',
};

export function createOperationCalls(catalog: Catalog): OperationCalls {
  const { operations } = catalog.store;
  return {
    beginOperation: async ({ idempotencyKey, operation, bodyMac }, ctx): Promise<BeginOperationResponse> => {
      const { accountId } = requirePrincipal(ctx);
      const nowMs = catalog.nowMs();
      const doc: OperationDoc = {
        id: recordId(accountId, operation, idempotencyKey),
        accountId,
        version: 1,
        bodyMac: Buffer.from(bodyMac).toString('hex'),
        open: 1,
        status: 0,
        contentType: '',
        kept: false,
        note: '',
        createdAt: nowMs,
        expiresAt: nowMs + keptMs,
      };
      try {
        await operations.insert(doc);
        return { ...nothing, state: State.STATE_NEW, recordId: doc.id };
      } catch (err) {
        if (!(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
      }
      const found = await operations.get(accountId, doc.id);
      if (found === null)
        throw new HubError('UNAVAILABLE', 'The operation ended just now. Try again.', { retryable: true });
      if (found.expiresAt <= nowMs) return renew(catalog, found, doc);
      return answer(found, { bodyMac: doc.bodyMac, nowMs });
    },

    finishOperation: async ({ recordId: id, status, contentType, body, kept, note, etag }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const found = await operations.get(accountId, id);
      if (found === null || found.open === 0) return {};
      if (status === 0) {
        await operations.delete(accountId, id, { version: found.version });
        return {};
      }
      const done = { ...found, version: found.version + 1, open: 0, status, contentType, kept, note };
      await operations.replace(kept ? { ...done, answer: body, etag } : done);
      return {};
    },
  };
}

function recordId(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** An expired record makes way for the new one; of two callers at once, one wins. */
async function renew(
  { store }: Catalog,
  old: OperationDoc,
  doc: OperationDoc,
): Promise<BeginOperationResponse> {
  if (await store.operations.replace({ ...doc, version: old.version + 1 })) {
    return { ...nothing, state: State.STATE_NEW, recordId: doc.id };
  }
  return { ...nothing, state: State.STATE_IN_FLIGHT };
}

function answer(found: OperationDoc, now: { bodyMac: string; nowMs: number }): BeginOperationResponse {
  if (found.bodyMac !== now.bodyMac) return { ...nothing, state: State.STATE_OTHER_BODY };
  if (found.open === 1) {
    const left = now.nowMs - found.createdAt > openMaxMs;
    return { ...nothing, state: left ? State.STATE_UNKNOWN : State.STATE_IN_FLIGHT };
  }
  return {
    state: State.STATE_DONE,
    recordId: found.id,
    status: found.status,
    contentType: found.contentType,
    body: Buffer.from(found.answer ?? []),
    kept: found.kept,
    note: found.note,
    etag: found.etag ?? '',
  };
}
