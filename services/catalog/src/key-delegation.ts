/** Delegation: a key grants other keys at most its own scopes, limits and lifetime. Pure rules. */

import { parseExact } from '@datahub/contract/exact-json';
import {
  fieldOf,
  type KeyLimit,
  type KeyLimitKind,
  keyLimitNames,
  keyLimits,
} from '@datahub/contract/key-limits';
import { isGranted, type Scope } from '@datahub/contract/scopes';
import { isConfined, mayTrain } from '@datahub/contract/withheld';
import { HubError } from '@datahub/service-kit/call/error';
import type { KeyDoc, RateBudgetDoc } from './documents.ts';

export type KeyReach = Pick<KeyDoc, 'scopes' | 'limits' | 'expiresAt'>;

/** Throws SCOPE_DENIED if the new key could do more, or would expire later, than the key that makes it. */
export function requireNoMore(maker: KeyReach, made: KeyReach): void {
  const beyond = made.scopes.find((scope) => !isGranted(maker.scopes, scope as Scope));
  if (beyond !== undefined)
    throw refused(`A key cannot give another key the scope ${beyond}, which it does not have itself.`);
  for (const limit of keyLimitNames) {
    const field = fieldOf(limit);
    requireNarrower[keyLimits[limit].kind](limit, maker.limits[field], made.limits[field]);
  }
  // To a key that is limited to hubs or queries, this limit adds classifiers.
  if (made.limits.classifierIds?.some((id) => !mayTrain(maker.limits, id)))
    throw refused('A key can list only classifiers in classifierIds that it may train itself.');
  if (maker.expiresAt !== null && (made.expiresAt ?? Number.POSITIVE_INFINITY) > maker.expiresAt) {
    throw refused('A key that expires can create only keys that expire no later. Set expiresAt.');
  }
}

/** The most budgets that a request counts against. In a chain of created keys, each one that lowers the rate adds one. */
const budgetsMax = 8;

/** Every budget that a request of the key draws on. */
export function budgetsOf({
  id,
  limits,
  budgets,
}: Pick<KeyDoc, 'id' | 'limits' | 'budgets'>): RateBudgetDoc[] {
  const { ratePerMinute: perMinute } = limits;
  return budgets ?? [{ id, ...(perMinute === undefined ? {} : { perMinute }) }];
}

/** A key made with a rate-limited key shares its budget, and has its own budget as well if its rate is lower. */
export function inheritBudgets(maker: KeyDoc | null, made: KeyDoc): KeyDoc {
  const shared = maker === null ? [] : budgetsOf(maker);
  const { ratePerMinute: perMinute } = made.limits;
  const bound = shared.at(-1)?.perMinute;
  if (bound === undefined) return made;
  const own = perMinute !== undefined && perMinute < bound ? [{ id: made.id, perMinute }] : [];
  const budgets = [...shared, ...own];
  if (budgets.length <= budgetsMax) return { ...made, budgets };
  throw refused(
    `A chain of keys that each lower the rate can have at most ${budgetsMax} keys. Create this one with another key.`,
  );
}

/** The id of the first of the keys that replaced one another. */
export const lineageOf = ({ id, ownBudget = id }: Pick<KeyDoc, 'id' | 'ownBudget'>): string => ownBudget;

/** The key with a budget for its own rate after the others, if it has one already or its rate is lower than theirs. */
function withOwnBudget(key: KeyDoc, others: RateBudgetDoc[], hasOwn: boolean): KeyDoc {
  const id = lineageOf(key);
  const { ratePerMinute: perMinute } = key.limits;
  const lowest = Math.min(...others.map((one) => one.perMinute ?? Number.POSITIVE_INFINITY));
  const own = perMinute !== undefined && (hasOwn || perMinute < lowest) ? [{ id, perMinute }] : [];
  const budgets = [...others, ...own];
  return { ...key, budgets: budgets.length === 0 ? [{ id }] : budgets };
}

/** The changed key with its budgets. Keys that share its own budget need `followRate`. */
export function setRate(key: KeyDoc): KeyDoc {
  const all = budgetsOf(key).filter(({ perMinute }) => perMinute !== undefined);
  const others = all.filter(({ id }) => id !== lineageOf(key));
  return withOwnBudget(key, others, others.length < all.length);
}

/** The same key if it does not share the own budget of the changed key. */
export function followRate(key: KeyDoc, changed: KeyDoc): KeyDoc {
  const id = lineageOf(changed);
  const { ratePerMinute: perMinute } = changed.limits;
  const old = budgetsOf(key);
  if (key.id === changed.id || old.every((budget) => budget.id !== id)) return key;
  if (lineageOf(key) === id) {
    // One of the two replaced the other.
    const { ratePerMinute: _, ...limits } = key.limits;
    return setRate({
      ...key,
      limits: perMinute === undefined ? limits : { ...limits, ratePerMinute: perMinute },
    });
  }
  const next = old.flatMap((budget) => {
    if (budget.id !== id) return [budget];
    return perMinute === undefined ? [] : [{ id, perMinute }];
  });
  return setRate({ ...key, budgets: next });
}

/** Throws SCOPE_DENIED if a key with a rate would give others requests that do not count against its own budgets. */
export function requireOwnRate(caller: KeyDoc | null, old: KeyDoc, next: KeyDoc): void {
  const { ratePerMinute = Number.POSITIVE_INFINITY } = old.limits;
  const isRaised = (next.limits.ratePerMinute ?? Number.POSITIVE_INFINITY) > ratePerMinute;
  if (caller === null || !isRaised) return;
  const shared = new Set(budgetsOf(old).map(({ id }) => id));
  const isShared = budgetsOf(caller).every(({ id, perMinute }) => perMinute === undefined || shared.has(id));
  if (!isShared)
    throw refused('A key with a rate limit can raise only the rates of keys that share its budget.');
}

/** Throws SCOPE_DENIED if the other key can do more or expires later: a weaker key must not cut off its callers. */
export function requireNoStronger(caller: KeyReach, other: KeyReach): void {
  if (isStronger(caller, other))
    throw refused(
      'A key can change or revoke only keys that may do no more than itself and expire no later.',
    );
}

/** Whether the other key can do more than the caller, or expires later. */
export function isStronger(caller: KeyReach, other: KeyReach): boolean {
  try {
    requireNoMore(caller, other);
    return false;
  } catch (err) {
    if (err instanceof HubError && err.code === 'SCOPE_DENIED') return true;
    throw err;
  }
}

/**
 * Whether the caller's key sees the other one at all: a key that is limited to hubs or queries sees itself, the keys that
 * it replaced or that replaced it, and those that one of these created.
 */
export function isVisible(caller: KeyDoc | null, other: KeyDoc): boolean {
  if (caller === null || !isConfined(caller.limits)) return true;
  const lineage = lineageOf(caller);
  return lineageOf(other) === lineage || other.maker === lineage;
}

/** The maker of the other key, as the caller's key sees it: if it is limited to hubs or queries, only of its own keys. */
export function makerSeenBy(caller: KeyDoc | null, { maker, madeBy }: KeyDoc): KeyDoc['madeBy'] {
  const sees = caller === null || !isConfined(caller.limits) || maker === lineageOf(caller);
  return sees ? madeBy : undefined;
}

/** Throws SCOPE_DENIED. */
export function requireVisible(caller: KeyDoc | null, other: KeyDoc): void {
  if (isVisible(caller, other)) return;
  throw refused('A key that is limited to hubs or queries may use only keys that it created.');
}

const refused = (message: string) => new HubError('SCOPE_DENIED', message);

/** What a key made with another one may have of a limit, by the kind of the limit. Each throws SCOPE_DENIED. */
const requireNarrower: Record<KeyLimitKind, (limit: KeyLimit, own: unknown, wanted: unknown) => void> = {
  list: (limit, own, wanted) => {
    if (own === undefined) return;
    const entries = (wanted ?? []) as string[];
    if (entries.length > 0 && entries.every((entry) => (own as string[]).includes(entry))) return;
    throw refused(`A key with the limit ${limit} can create only keys whose ${limit} are among its own.`);
  },
  upperBound: (limit, own, wanted = Number.POSITIVE_INFINITY) => {
    if (own === undefined || (wanted as number) <= (own as number)) return;
    throw refused(`A key with ${limit} ${own} can create only keys with the same ${limit} or less.`);
  },
  pinned: (limit, own, wanted) => {
    const values = readPinned(wanted as string | undefined);
    for (const [name, value] of readPinned(own as string | undefined)) {
      if (values.get(name) === value) continue;
      throw refused(
        `A key that pins variables in ${limit} can create only keys that pin them to the same values.`,
      );
    }
  },
  flag: (limit, own, wanted) => {
    if (own && !wanted) throw refused(`A key with the limit ${limit} can create only keys with it.`);
  },
  same: (limit, own, wanted) => {
    if (own === undefined || JSON.stringify(own) === JSON.stringify(wanted)) return;
    throw refused(`A key with the limit ${limit} can create only keys with the same ${limit}.`);
  },
};

/** Each pinned value as JSON text, so that numbers are compared by their digits: two of them may be the same double. */
function readPinned(contextJson: string | undefined): Map<string, string> {
  const pinned = parseExact(contextJson ?? '{}') as object;
  return new Map(Object.entries(pinned).map(([name, value]) => [name, JSON.stringify(value)]));
}
