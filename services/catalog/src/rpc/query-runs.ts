/** The records of executions of queries: the executors send them, and those who may see them list them. */

import { createHash, randomInt } from 'node:crypto';
import { membersOf, objectOf } from '@datahub/contract/json-text';
import { withScope } from '@datahub/contract/roles';
import type { CatalogServiceService, QueryRun } from '@datahub/proto/catalog/v1/catalog';
import type { CatalogInternalServiceService, RecordedRun } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFixedId } from '@datahub/service-kit/id';
import { type Catalog, loadQuery } from '../catalog.ts';
import type { QueryDoc, QueryRunDoc } from '../documents.ts';
import { keyLimits } from '../key-limits.ts';
import { listPage } from '../pagination.ts';
import { findKey } from '../people/acting.ts';

/** Counting the runs of a query costs more than writing some, so it is done once for so many. */
const countedEvery = 500;
/** Queries whose new runs are counted. */
const countedMax = 10_000;
const removedMax = 1_000;
/** Of the id of a run. */
const seedBytes = 10;

export function createQueryRunCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    listQueryRuns: async ({ queryId, failed, own, offset, limit }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { accountId } = principal;
      const query = await loadQuery(catalog, principal, queryId);
      // A person by the role that may read the audit, if it counts in this hub.
      const auditor = withScope(principal, 'keys:admin');
      const seesAll =
        !own && auditor !== undefined && keyLimits.hubIds.isAllowed(auditor.limits, query.hubId);
      const where = {
        queryId,
        ...(seesAll ? {} : { caller: callerOf(principal) }),
        ...(failed === undefined ? {} : { failed: failed ? 1 : 0 }),
      };
      const page = { offset, limit };
      const { docs, total } = await listPage(store.queryRuns, { accountId, where, descending: true }, page);
      const names = await namesOf(catalog, principal, docs);
      return { runs: docs.map((doc) => toRun(doc, { query, keyName: names.get(doc.keyId) })), total };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

interface RecordRunsOptions {
  /** Of each query. */
  queryRunsMax: number;
  /**
   * After how many runs a query is counted for the first time. The hub may stop before its runs are many, so that is left
   * to chance: all queries counted right after each start would be too much work.
   */
  firstCountIn?: () => number;
}

/**
 * The oldest runs of a query go first, some hundred at a time. No call waits for that, because counting can take long, and
 * the runs of all queries wait for the call.
 */
export function createRecordRuns(
  catalog: Catalog,
  { queryRunsMax, firstCountIn = () => randomInt(countedEvery + 1) }: RecordRunsOptions,
): Calls<typeof CatalogInternalServiceService>['recordRuns'] {
  const { queryRuns } = catalog.store;
  /** The runs of each query that were written since they were last counted. */
  const uncounted = new Map<string, number>();

  /** The queries whose old runs are to be removed, with their accounts. */
  const crowded = new Map<string, string>();
  let isRemoving = false;

  const removeOld = async (accountId: string, queryId: string): Promise<void> => {
    const where = { queryId };
    let left = (await queryRuns.count({ accountId, where })) - queryRunsMax;
    for (; left > 0; left -= removedMax)
      await queryRuns.deleteMany({ accountId, where, limit: Math.min(left, removedMax) });
  };

  const removeAllOld = async (): Promise<void> => {
    if (isRemoving) return;
    isRemoving = true;
    for (const [queryId, accountId] of crowded) {
      crowded.delete(queryId);
      // If it fails, the next run of the query tries again.
      await removeOld(accountId, queryId).catch(() => uncounted.delete(queryId));
    }
    isRemoving = false;
  };

  return async ({ runs }) => {
    if (queryRunsMax === 0) return {};
    const docs = runs.map((run) => toDoc(catalog, run));
    // A call whose answer was lost has written some.
    await queryRuns.insertMany(docs);
    for (const { accountId, queryId } of docs) {
      const count = (uncounted.get(queryId) ?? countedEvery - firstCountIn()) + 1;
      if (uncounted.size >= countedMax) uncounted.clear();
      uncounted.set(queryId, count > countedEvery ? 0 : count);
      if (count > countedEvery) crowded.set(queryId, accountId);
    }
    void removeAllOld();
    return {};
  };
}

/** Names who called: the key, and the signed-in user if there is one. */
function callerOf({ keyId, user }: Pick<Principal, 'keyId' | 'user'>): string {
  if (user === undefined) return keyId;
  const { issuer, subject } = user;
  return `${keyId} ${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')}`;
}

function toDoc({ namespace }: Catalog, { accountId, queryId, seed, run, issuer }: RecordedRun): QueryRunDoc {
  if (run?.at === undefined || seed.length < seedBytes)
    throw new HubError('VALIDATION', 'A recorded run needs a time and a seed.');
  const {
    keyId,
    user,
    version: queryVersion,
    form,
    code,
    rows,
    cached,
    dryRun,
    queueMs,
    databaseMs,
    totalMs,
    valuesJson,
  } = run;
  const at = run.at.getTime();
  const subject = user === undefined || issuer === undefined ? undefined : { issuer, subject: user };
  const optional = { user, code, dryRun: dryRun || undefined, queueMs, databaseMs, totalMs, valuesJson };
  return {
    id: createFixedId({ namespace, kind: 'qrun', atMs: at }, Buffer.from(seed)),
    accountId,
    version: 1,
    queryId,
    caller: callerOf({ keyId, user: subject as Principal['user'] }),
    failed: code === undefined ? 0 : 1,
    ...{ at, keyId, queryVersion, form, rows, cached },
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<QueryRunDoc>),
  };
}

const toRun = (
  doc: QueryRunDoc,
  { query, keyName }: { query: QueryDoc; keyName: string | undefined },
): QueryRun => ({
  runId: doc.id,
  at: new Date(doc.at),
  keyId: doc.keyId,
  keyName,
  user: doc.user,
  version: doc.queryVersion,
  form: doc.form,
  code: doc.code,
  rows: doc.rows,
  cached: doc.cached,
  dryRun: doc.dryRun ?? false,
  queueMs: doc.queueMs,
  databaseMs: doc.databaseMs,
  totalMs: doc.totalMs,
  valuesJson: shownValues(doc, query),
});

/** A query that keeps no values shows none that it kept before, and none of a variable that became secret. */
function shownValues({ valuesJson }: QueryRunDoc, { keepValues, context }: QueryDoc): string | undefined {
  if (!keepValues || valuesJson === undefined) return undefined;
  const values = membersOf(valuesJson);
  for (const { key, secret } of context) if (secret) values.delete(key);
  return objectOf(values);
}

/** Revoked keys have no name. */
async function namesOf(
  catalog: Catalog,
  principal: Principal,
  docs: readonly QueryRunDoc[],
): Promise<Map<string, string | undefined>> {
  const { accountId } = principal;
  if (withScope(principal, 'keys:read') === undefined) return new Map();
  const ids = [...new Set(docs.map(({ keyId }) => keyId))];
  return new Map(
    await Promise.all(
      ids.map(async (id) => [id, (await findKey(catalog, { accountId, keyId: id }))?.name] as const),
    ),
  );
}
