/** Reseals stored credentials with the current sealing key while the hub runs, so that old keys can be removed. */

import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import type {
  ResealedSource,
  ResolvedSource,
  SealedCredentials,
} from '@datahub/proto/catalog/v1/catalog_internal';
import type { SecretField } from '@datahub/sealing/envelope';
import { publicKeyOf } from '@datahub/sealing/key-pair';
import { keyIdOf, type Opener } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Closable } from '@datahub/service-kit/closers';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { type Catalog, toSourceDefinition } from '../definitions/definition.ts';
import { resealDestinations } from './destination-secrets.ts';
import type { Resealed, Resealing } from './resealed.ts';
import { createSecretCounts } from './secret-counts.ts';
import { bindingOf, sealedTextsOf } from './unseal.ts';

export interface ResealOptions extends Resealing {
  catalog: Pick<Catalog, 'listSealed' | 'reseal'>;
}

const callTimeoutMs = 30_000;
/** Sent in one call, which the store writes together. Few, because sources may change meanwhile. */
const batchSize = 50;
const resealEveryMs = 10 * 60_000;
/** Before the next run after one that changed something, was overtaken by others or could not reach the catalog. */
const repeatAfterMs = 1_000;
/** How long a stop waits for the call in progress. */
const closeMaxMs = 1_000;

/** Reseals all sources once, and skips those that cannot be opened. */
export async function resealAll(options: ResealOptions): Promise<Resealed> {
  const { pageSize = batchSize } = options;
  const result: Resealed = { moved: 0, unopened: 0, contended: 0 };
  let afterSourceId = '';
  let sending = Promise.resolve();
  while (!options.signal.aborted) {
    const ctx = createCallContext({ timeoutMs: callTimeoutMs });
    const { sources } = await options.catalog.listSealed({ afterSourceId, limit: pageSize }, ctx);
    const requests = await resealBatch(sources, options, result);
    await sending;
    // Runs while the next batch is resealed.
    sending = sendBatch(requests, options, result);
    sending.catch(() => {});
    const last = sources.at(-1);
    if (last === undefined) break;
    afterSourceId = `${last.accountId}/${last.sourceId}`;
  }
  await sending;
  return result;
}

async function resealBatch(
  batch: ResolvedSource[],
  options: ResealOptions,
  result: Resealed,
): Promise<ResealedSource[]> {
  const requests: ResealedSource[] = [];
  for (const source of batch) {
    const old = sealedTextsOf(source.sealed);
    for (const text of old) options.onFound?.(text);
    if (old.every((text) => keyIdOf(text) === options.opener.currentKeyId)) continue;
    const { accountId, sourceId, version: expectedVersion } = source;
    try {
      const sealed = await resealSecrets(source, options);
      requests.push({ accountId, sourceId, expectedVersion, sealed });
    } catch (err) {
      if (!(err instanceof HubError) || err.retryable !== false) throw err;
      result.unopened++;
    }
  }
  return requests;
}

async function sendBatch(
  batch: ResealedSource[],
  { catalog }: ResealOptions,
  result: Resealed,
): Promise<void> {
  const [first, ...more] = batch;
  if (first === undefined) return;
  const ctx = createCallContext({ timeoutMs: callTimeoutMs });
  const { done, moreDone } = await catalog.reseal({ ...first, more }, ctx);
  const moved = [done, ...moreDone].filter(Boolean).length;
  result.moved += moved;
  result.contended += batch.length - moved;
}

async function resealSecrets(
  source: ResolvedSource,
  { opener, seal }: ResealOptions,
): Promise<SealedCredentials> {
  const definition = toSourceDefinition(source);
  const { user, password, tlsKey, sshPrivateKey = '', sshPassword = '' } = definition.sealed;
  const move = async (text: string, field: SecretField) => {
    if (text === '') return '';
    // Lets other work run first: opening and sealing block the event loop.
    await nextIteration();
    const binding = bindingOf(definition, field);
    return seal(await opener.open(text, binding), binding);
  };
  return {
    user: await move(user, 'user'),
    password: await move(password, 'password'),
    tlsKey: await move(tlsKey, 'tls.key'),
    sshPrivateKey: await move(sshPrivateKey, 'ssh.privateKey'),
    sshPassword: await move(sshPassword, 'ssh.password'),
  };
}

export interface ResealingOptions {
  /** The first is the current key of `opener`. */
  privateKeys: readonly string[];
  opener: Opener;
  catalog: ResealOptions['catalog'] & Pick<Catalog, 'listSealedSecrets' | 'resealSecrets'>;
  logger: Logger;
}

const sum = (one: Resealed, other: Resealed): Resealed => ({
  moved: one.moved + other.moved,
  unopened: one.unopened + other.unopened,
  contended: one.contended + other.contended,
});

export interface RunningResealing extends Closable {
  /** How many secrets each sealing key has, in Prometheus' text format; empty if there is only one key. */
  metrics(): string;
}

/** If there are several keys, reseals everything with the first one, repeatedly, until the others can be removed. */
export async function startResealing(options: ResealingOptions): Promise<RunningResealing> {
  const { privateKeys, opener, catalog, logger } = options;
  if (privateKeys.length < 2) return { metrics: () => '', close: () => {} };
  const counts = createSecretCounts(privateKeys);
  const seal = await createSealer([await publicKeyOf(privateKeys[0] ?? '')]);
  const stop = new AbortController();
  let running = Promise.resolve();
  let again: NodeJS.Timeout | undefined;
  const run = async (): Promise<number> => {
    try {
      const { onFound, finish } = counts.begin();
      const options = { catalog, opener, seal, signal: stop.signal, onFound };
      const resealed = sum(await resealAll(options), await resealDestinations(options));
      logger.info({ event: 'reseal.done', ...resealed }, 'resealed stored credentials with the current key');
      if (!stop.signal.aborted) finish();
      return resealed.moved + resealed.contended > 0 ? repeatAfterMs : resealEveryMs;
    } catch (err) {
      logger.warn(
        { event: 'reseal.failed', err },
        'resealing stored credentials failed; it is tried again soon',
      );
      return repeatAfterMs;
    }
  };
  const next = () => {
    running = run().then((delayMs) => {
      if (stop.signal.aborted) return;
      again = setTimeout(next, delayMs);
      again.unref();
    });
  };
  next();
  return {
    metrics: counts.metrics,
    close: async () => {
      stop.abort();
      clearTimeout(again);
      // A catalog that does not answer must not use up the time that executions have to end.
      await Promise.race([running, sleep(closeMaxMs)]);
    },
  };
}
