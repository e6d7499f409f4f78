/** The composition of the catalog: store, rules and calls. */

import { answerBackup, isBackupRequest } from '@datahub/document-store/backup-request';
import { createQuota } from '@datahub/document-store/quota';
import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Seal } from '@datahub/sealing/sealer';
import type { Calls } from '@datahub/service-kit/call/call';
import { inTurns } from '@datahub/service-kit/call/turns';
import { createIdFactory } from '@datahub/service-kit/id';
import { openOperatorSocket } from '@datahub/service-kit/process/operator-socket';
import { createProcessId, stateOfProcess } from '@datahub/service-kit/process/process-id';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { createBoardCalls } from './boards/board-calls.ts';
import type { Catalog } from './catalog.ts';
import { createChangeFeed } from './change-feed.ts';
import type { CatalogConfig } from './config.ts';
import { createEventClock } from './events/event-clock.ts';
import { createDeliveryPace } from './events/pace.ts';
import { type Bootstrapped, bootstrap } from './maintenance/bootstrap.ts';
import { sweepLeftovers } from './maintenance/deletion-sweep.ts';
import { createDeliverySweep } from './maintenance/delivery-sweep.ts';
import { startExpirySweep } from './maintenance/expiry-sweep.ts';
import { sweepKeys } from './maintenance/key-sweep.ts';
import { createLeftovers } from './maintenance/leftovers.ts';
import { createMlFile, type MlFile } from './maintenance/ml-file.ts';
import { removeOldRuns } from './maintenance/run-sweep.ts';
import { removeSecretsOnce } from './maintenance/secret-sweep.ts';
import { sweepWatches } from './maintenance/watch-sweep.ts';
import { logWithheldOnce } from './maintenance/withheld-log.ts';
import type { CheckStatement } from './query.ts';
import { createAgentCalls } from './rpc/agents/agents.ts';
import { createClientCalls } from './rpc/agents/clients.ts';
import { createTokenCalls } from './rpc/agents/tokens.ts';
import { createAuditCalls } from './rpc/audit.ts';
import { createDestinationCalls } from './rpc/destinations.ts';
import { createFolderCalls } from './rpc/folders.ts';
import { createHubCalls } from './rpc/hubs.ts';
import { createInternalCalls, type InternalCalls } from './rpc/internal.ts';
import { createJobEventCalls } from './rpc/job-events.ts';
import { createKeyCalls } from './rpc/keys.ts';
import { createOperationCalls } from './rpc/operations.ts';
import { operate, readOperatorRequest } from './rpc/operator.ts';
import { createGrantCalls } from './rpc/people/grants.ts';
import { createPeopleCalls } from './rpc/people/people.ts';
import { createRefreshCalls } from './rpc/people/refreshes.ts';
import { createSignInCalls } from './rpc/people/sign-in.ts';
import { createQueryCalls } from './rpc/queries.ts';
import { createQueryRunCalls } from './rpc/query-runs.ts';
import { createQueryVersionCalls } from './rpc/query-versions.ts';
import { createWindowCalls } from './rpc/rate-windows.ts';
import { createSourceCalls } from './rpc/sources.ts';
import { createTickCalls } from './rpc/ticks.ts';
import { createToolCalls } from './rpc/tools.ts';
import { createUsageCalls } from './rpc/usage.ts';
import { createWatchRunCalls } from './rpc/watch-runs.ts';
import { createWatchCalls } from './rpc/watches.ts';
import { openSlotOwner, soleOwner } from './slots/slot-owner.ts';
import { openSlotStreams, type SlotStreams } from './slots/slot-streams.ts';
import { type CatalogStore, openCatalogStore } from './store.ts';
import { requireWhole } from './store-file.ts';
import { createStoredBytes } from './stored-bytes.ts';
import { createSchedules } from './watches/schedule.ts';

export interface CatalogDeps {
  logger: Logger;
  nowMs: () => number;
  seal: Seal;
  checkStatement: CheckStatement;
  /** True where executors outlive this process. */
  executorsApart?: boolean;
}

export interface CatalogService {
  calls: Calls<typeof CatalogServiceService>;
  internal: InternalCalls;
  bootstrapped: Bootstrapped;
  mlFile: MlFile;
  /** Before that, executors share the connections that they have. */
  settling: { name: string; settled: Promise<void> };
  health(): Promise<void>;
  /** Ends the streams of watching executors, so that the server can drain. */
  stopWatches(): Promise<void>;
  close(): Promise<void>;
}

/** Does not go back, as the clock may. */
const elapsedMs = () => performance.now();

export async function openCatalog(config: CatalogConfig, deps: CatalogDeps): Promise<CatalogService> {
  requireWhole(config.storeUrl);
  const store = await openCatalogStore(config.storeUrl);
  const createId = createIdFactory({ namespace: config.namespace });
  const changes = createChangeFeed({
    instanceId: createId('evt', deps.nowMs()),
    leaseMs: config.leaseMs,
    // An executor may hold what another replica gave it before it follows this one.
    mayMissHolders: () => config.replicas > 1,
    holdersBefore: deps.executorsApart,
  });
  const bootstrapped = await bootstrap(store, { ...config, createId, nowMs: deps.nowMs() }).catch(
    async (err) => {
      await store.close();
      throw err;
    },
  );
  const slots = await openSlots(store, config, deps);
  const { namespace } = config;
  const quota = createQuota(config.accountQuota);
  const leftovers = createLeftovers((err) =>
    deps.logger.warn({ event: 'sweep.failed', err }, 'the rest of a deletion failed; it is tried again'),
  );
  const storedBytes = createStoredBytes(store.operations, config.storedBytesMax);
  const catalog: Catalog = {
    store,
    createId,
    changes,
    namespace,
    quota,
    leftovers,
    storedBytes,
    slots,
    ...{ schedules: createSchedules(), pace: createDeliveryPace(elapsedMs) },
    ...{ eventClock: createEventClock({ ...deps, elapsedMs }), mail: config.mail, random: Math.random },
    ...deps,
  };
  logBootstrap(bootstrapped, config, deps.logger);

  const operator = await openOperator(catalog, config, deps);
  const expirySweep = startExpirySweep(store, {
    ...deps,
    ...config,
    leftovers,
    sweepSeldom: createSeldomSweep(catalog, config),
  });
  sweepAtStart(store, deps);

  const stopWatches = () => {
    changes.close();
    return slots.close();
  };
  return {
    calls: inTurns(CatalogServiceService, createCalls(catalog, config)),
    internal: createInternalCalls(catalog, config),
    ...{ bootstrapped, mlFile: createMlFile(store) },
    settling: { name: 'slots', settled: slots.settled },
    health: () => store.health(),
    stopWatches,
    close: async () => {
      expirySweep.close();
      await stopWatches();
      await operator?.close();
      await store.close();
    },
  };
}

/** In the background. What fails is done at the next start. */
function sweepAtStart(store: CatalogStore, deps: CatalogDeps): void {
  const failed = (what: string) => (err: unknown) =>
    deps.logger.warn({ event: 'sweep.failed', err }, `${what} failed`);
  logWithheldOnce(store, deps).catch(failed('reading the keys'));
  removeSecretsOnce(store, deps).catch(failed('removing secrets from boards'));
  sweepLeftovers(store).catch(failed('sweeping'));
}

function createSeldomSweep(catalog: Catalog, config: CatalogConfig) {
  const sweepDeliveries = createDeliverySweep(catalog, elapsedMs);
  return async (closed: AbortSignal): Promise<void> => {
    await removeOldRuns(catalog.store, config.accountRunsMax, closed);
    await sweepWatches(catalog, closed);
    await sweepDeliveries(closed);
    await sweepKeys(catalog, config, closed);
  };
}

function createCalls(catalog: Catalog, config: CatalogConfig): CatalogService['calls'] {
  return {
    ...createHubCalls(catalog),
    ...createFolderCalls(catalog),
    ...createSourceCalls(catalog),
    ...createQueryCalls(catalog),
    ...createToolCalls(catalog),
    ...createQueryVersionCalls(catalog),
    ...createKeyCalls(catalog),
    ...createAuditCalls(catalog),
    ...createUsageCalls(catalog, config),
    ...createQueryRunCalls(catalog),
    ...createWindowCalls(catalog),
    ...createOperationCalls(catalog),
    ...createBoardCalls(catalog),
    ...createWatchCalls(catalog),
    ...createWatchRunCalls(catalog),
    ...createTickCalls(catalog),
    ...createJobEventCalls(catalog),
    ...createDestinationCalls(catalog),
    ...createSignInCalls(catalog),
    ...createRefreshCalls(catalog),
    ...createPeopleCalls(catalog),
    ...createGrantCalls(catalog),
    ...createClientCalls(catalog),
    ...createAgentCalls(catalog),
    ...createTokenCalls(catalog),
  };
}

async function openOperator(catalog: Catalog, { operatorSocket: path }: CatalogConfig, deps: CatalogDeps) {
  if (path === undefined) return undefined;
  return openOperatorSocket({
    path,
    handle: async (request, call) =>
      isBackupRequest(request)
        ? answerBackup(catalog.store, request, { ...call, ...deps })
        : operate(catalog, readOperatorRequest(request)),
    logger: deps.logger,
  });
}

/** Executors in the same process end with it, so there is no earlier owner whose slots they could hold. */
function openSlots(
  store: CatalogStore,
  { slotLeaseMs: leaseMs, serverLimits: servers, storeUrl }: CatalogConfig,
  { logger, executorsApart }: CatalogDeps,
): Promise<SlotStreams> {
  const now = performance.now.bind(performance);
  const onFailure = (err: unknown) =>
    logger.warn({ event: 'slots.failed', err }, 'the slots could not be shared; this is tried again');
  const ownership = {
    docs: store.slotOwners,
    instanceId: createProcessId(),
    stateOf: stateOfProcess,
    isAlone: storeUrl.startsWith('sqlite:'),
    leaseMs,
    now,
    onFailure,
  };
  return openSlotStreams({
    leaseMs,
    servers,
    now,
    hasEnded: (id) => stateOfProcess(id) === 'ended',
    onFailure,
    openOwner: (ledger) =>
      executorsApart ? openSlotOwner({ ...ownership, ...ledger }) : Promise.resolve(soleOwner),
  });
}

/** Logs a created key at once, because the rest of the start may fail. */
function logBootstrap(
  { createdKey, givenKey }: Bootstrapped,
  { keyFile }: CatalogConfig,
  logger: Logger,
): void {
  if (createdKey !== undefined) {
    logger.info(
      { event: 'key.created', keyFile },
      `created the first API key, which is stored in ${keyFile}`,
    );
  }
  if (givenKey === 'added')
    logger.info({ event: 'key.added' }, 'DATAHUB_API_KEY was added to the first account');
  if (givenKey === 'ended')
    logger.warn(
      { event: 'key.ended' },
      'the key in DATAHUB_API_KEY was revoked or had expired, so it was not added again; set another one, or none',
    );
}
