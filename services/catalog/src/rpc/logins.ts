/**
 * Counts failed log-ins at users' databases, so that an account cannot guess passwords with the hub: by address, port and
 * user, and by address alone, in each minute. Settings that have logged in once are exempt: their password is fixed.
 */

import { createHash } from 'node:crypto';
import { loginFailuresMax as failuresMax } from '@datahub/contract/limits';
import { insertIfNew } from '@datahub/document-store';
import {
  type CatalogInternalServiceService,
  LoginGrant,
  type LoginTarget,
} from '@datahub/proto/catalog/v1/catalog_internal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFixedId } from '@datahub/service-kit/id';
import { type Catalog, loadSource } from '../catalog.ts';
import type { SourceDoc } from '../documents.ts';
import { sweepSource } from '../maintenance/deletion-sweep.ts';
import { minuteMs, take } from '../rates/windows.ts';
import { addUse, hourOf } from '../usage/use-counts.ts';

export type LoginCalls = Pick<Calls<typeof CatalogInternalServiceService>, 'takeLogin' | 'endLogin'>;

const counters = ['login', 'address'] as const;
const targetsMax = 256;
/** The addresses of one source that are remembered. */
const provenMax = 64;
const attemptsMax = 10;

export function createLoginCalls(catalog: Catalog): LoginCalls {
  const { store, nowMs } = catalog;
  return {
    takeLogin: async ({ sourceId, settingsVersion, targets }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      requireFew(targets);
      const proven = await store.sourceLogins.get(accountId, sourceId);
      const logins = new Set(proven?.settingsVersion === settingsVersion ? proven.logins : []);
      const minute = Math.floor(nowMs() / minuteMs);
      const grants: LoginGrant[] = [];
      for (const target of targets) {
        if (logins.has(target.login)) grants.push(LoginGrant.LOGIN_GRANT_PROVEN);
        else grants.push(await takeOne(catalog, { accountId, target, minute }));
      }
      return { grants, minute, retryAfterMs: Math.max(1, (minute + 1) * minuteMs - nowMs()) };
    },

    endLogin: async ({ sourceId, settingsVersion, minute, returned, accepted, refused, failed }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      requireFew([...returned, ...accepted, ...failed]);
      for (const target of returned) await giveBack(catalog, { accountId, target, minute });
      for (const target of failed) await add(catalog, { accountId, target, minute }, 'failed-');
      if (accepted.length === 0 && !refused) return {};
      const source = await loadSource(catalog, requirePrincipal(ctx), sourceId);
      if (refused) await recordRefusal(catalog, source, ctx);
      if (accepted.length > 0) {
        await remember(catalog, source, { settingsVersion, accepted });
        await sweepSource(store, source);
      }
      return {};
    },
  };
}

function requireFew(targets: LoginTarget[]): void {
  if (targets.length > targetsMax)
    throw new HubError('VALIDATION', `A log-in can have at most ${targetsMax} targets.`);
}

interface Attempt {
  accountId: string;
  target: LoginTarget;
  minute: number;
}

async function takeOne(catalog: Catalog, attempt: Attempt): Promise<LoginGrant> {
  const counts = await add(catalog, attempt);
  if (counters.every((name, i) => (counts[i] as number) <= failuresMax[name]))
    return LoginGrant.LOGIN_GRANT_COUNTED;
  await giveBack(catalog, attempt);
  return (await haveFailed(catalog, attempt)) ? LoginGrant.LOGIN_GRANT_REFUSED : LoginGrant.LOGIN_GRANT_WAIT;
}

/** Counts the attempt, or its failure. Returns the new counts, in the order of `counters`. */
function add(
  catalog: Catalog,
  { accountId, target, minute }: Attempt,
  prefix: '' | 'failed-' = '',
): Promise<number[]> {
  const window = { accountId, endsAt: (minute + 1) * minuteMs, count: 1 };
  return Promise.all(
    counters.map((name) => take(catalog, { ...window, id: prefix + idOf(name, target, minute) })),
  );
}

/** True if so many attempts have failed that the others in progress cannot make room. */
async function haveFailed(
  { store: { windows } }: Catalog,
  { accountId, target, minute }: Attempt,
): Promise<boolean> {
  const failures = await Promise.all(
    counters.map((name) => windows.get(accountId, `failed-${idOf(name, target, minute)}`)),
  );
  return counters.some((name, i) => (failures[i]?.taken ?? 0) >= failuresMax[name]);
}

async function giveBack({ store }: Catalog, { accountId, target, minute }: Attempt): Promise<void> {
  for (const name of counters)
    await store.windows.add(accountId, idOf(name, target, minute), { counter: 'taken', by: -1 });
}

const idOf = (name: (typeof counters)[number], target: LoginTarget, minute: number) =>
  `${name}.${target[name]}.${minute}`;

/** One entry counts the refusals of a source in an hour. */
function recordRefusal(
  catalog: Catalog,
  { accountId, id: resourceId }: SourceDoc,
  { requestId }: CallContext,
): Promise<void> {
  const { namespace, nowMs } = catalog;
  const at = hourOf(nowMs());
  const seed = createHash('sha256').update(`source.refuse ${resourceId}`).digest();
  const id = createFixedId({ namespace, kind: 'evt', atMs: at }, seed);
  const by = { keyId: '', requestId };
  return addUse(catalog, {
    ...{ id, accountId, version: 1, at, ...by, count: 1, failed: 1 },
    ...{ action: 'source.refuse', resourceId },
  });
}

/** Other executors may remember other addresses at the same time. */
async function remember(
  { store: { sourceLogins } }: Catalog,
  { accountId, id, hubId }: SourceDoc,
  { settingsVersion, accepted }: { settingsVersion: string; accepted: LoginTarget[] },
): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const known = await sourceLogins.get(accountId, id);
    const before = known?.settingsVersion === settingsVersion ? known.logins : [];
    const logins = [...new Set([...before, ...accepted.map(({ login }) => login)])].slice(-provenMax);
    const doc = { id, accountId, hubId, settingsVersion, logins, version: (known?.version ?? 0) + 1 };
    if (known !== null ? await sourceLogins.replace(doc) : await insertIfNew(sourceLogins, doc)) return;
  }
}
