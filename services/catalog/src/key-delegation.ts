/** How far a key reaches, and that it hands on nothing beyond: pure rules. */

import { parseExact } from '@datahub/contract/exact-json';
import { HubError } from '@datahub/service-kit/call/error';
import type { KeyDoc, KeyLimitsDoc, RateBudgetDoc } from './documents.ts';

export type KeyReach = Pick<KeyDoc, 'scopes' | 'limits' | 'expiresAt'>;

/** Nobody makes a key that may do more, or longer, than the key it is made with. */
export function requireNoMore(maker: KeyReach, made: KeyReach): void {
  const beyond = made.scopes.find((scope) => !maker.scopes.includes('*') && !maker.scopes.includes(scope));
  if (beyond !== undefined)
    throw refused(`A key cannot hand on the scope ${beyond}, which it does not have.`);
  requireWithin(maker.limits.hubIds, made.limits.hubIds, 'hubs');
  requireWithin(maker.limits.queryIds, made.limits.queryIds, 'queries');
  requireWithin(maker.limits.origins, made.limits.origins, 'origins');
  requireSamePinned(maker.limits, made.limits);
  requireAtMost(maker.limits.ratePerMinute, made.limits.ratePerMinute, 'ratePerMinute');
  requireAtMost(maker.limits.maxRows, made.limits.maxRows, 'maxRows');
  if (maker.limits.strict && !made.limits.strict) throw refused('A strict key makes only strict keys.');
  if (maker.expiresAt !== null && (made.expiresAt ?? Number.POSITIVE_INFINITY) > maker.expiresAt) {
    throw refused('A key that ends makes only keys that end no later. Give expiresAt.');
  }
}

/** Of lower and lower rates below one another. */
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

/** A key made with a rated one shares its budget, and has one of its own below it where its rate is lower. */
export function inheritBudgets(maker: KeyDoc | null, made: KeyDoc): KeyDoc {
  const shared = maker === null ? [] : budgetsOf(maker).filter(({ perMinute }) => perMinute !== undefined);
  const { ratePerMinute: perMinute } = made.limits;
  const bound = shared.at(-1)?.perMinute;
  if (bound === undefined) return made;
  const own = perMinute !== undefined && perMinute < bound ? [{ id: made.id, perMinute }] : [];
  const budgets = [...shared, ...own];
  if (budgets.length <= budgetsMax) return { ...made, budgets };
  throw refused(
    `Keys can be made with lower and lower rates ${budgetsMax} times. Make this one with another key.`,
  );
}

/** Nobody ends a key that may do more, or longer, than the key it is done with: its callers would be cut off by less. */
export function requireNoStronger(caller: KeyReach, other: KeyReach): void {
  try {
    requireNoMore(caller, other);
  } catch (cause) {
    const message = 'A key revokes only keys that may do no more than itself, and no longer.';
    throw new HubError('SCOPE_DENIED', message, { cause });
  }
}

const refused = (message: string) => new HubError('SCOPE_DENIED', message);

function requireWithin(allowed: string[] | undefined, wanted: string[] | undefined, what: string): void {
  if (allowed === undefined) return;
  if (wanted?.length && wanted.every((one) => allowed.includes(one))) return;
  throw refused(`A key limited to ${what} makes only keys limited to them.`);
}

function requireAtMost(bound: number | undefined, wanted: number | undefined, name: string): void {
  if (bound === undefined || (wanted ?? Number.POSITIVE_INFINITY) <= bound) return;
  throw refused(`A key with a limit of ${bound} for ${name} makes only keys with as much or less.`);
}

function requireSamePinned(maker: KeyLimitsDoc, made: KeyLimitsDoc): void {
  const wanted = readPinned(made.contextJson);
  for (const [name, value] of readPinned(maker.contextJson)) {
    if (wanted.get(name) === value) continue;
    throw refused('A key with pinned variables makes only keys that pin them to the same values.');
  }
}

/** Each pinned value as JSON text: equal numbers are those with equal digits, which a double may not tell apart. */
function readPinned(contextJson: string | undefined): Map<string, string> {
  const pinned = parseExact(contextJson ?? '{}') as object;
  return new Map(Object.entries(pinned).map(([name, value]) => [name, JSON.stringify(value)]));
}
