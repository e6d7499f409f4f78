/** API keys as documents: pure rules. */

import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import {
  fieldOf,
  type KeyLimit,
  type KeyLimitFields,
  type KeyLimitKind,
  type KeyLimitValues,
  keyLimitBounds,
  keyLimitNames,
  keyLimits,
  toFields,
  unknownLimitOf,
} from '@datahub/contract/key-limits';
import { queryNameLength, queryNamePattern } from '@datahub/contract/limits';
import { grantableScopes } from '@datahub/contract/scopes';
import { faultsOfUserLimit, type UserLimit, userLimitBounds } from '@datahub/contract/user-limit';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { KeyLimits, Principal } from '@datahub/proto/common/v1/principal';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import { type Checker, createChecker, parseJson, parseObject } from './check.ts';
import type { KeyDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';
import { variableName } from './query.ts';

const isQueryName = new RegExp(queryNamePattern);

export interface NewKey {
  name: string;
  scopes: string[];
  limits: KeyLimitValues;
  expiresAt: number | null;
  /** A key that the operator brings. */
  secret?: string;
}

export interface MadeKey {
  doc: KeyDoc;
  /** The key in full; kept nowhere. */
  secret: string;
}

export function makeKey(input: NewKey, { accountId, nowMs, createId }: MakeContext): MadeKey {
  const check = createChecker();
  const checked = checkMembers(check, input, nowMs);
  const wanted = input.scopes.length === 0 ? ['queries:execute'] : input.scopes;
  wanted.forEach((scope, index) => {
    check.oneOf(['scopes', index], scope, grantableScopes);
  });
  checkUser(check, wanted, input.limits);
  check.done();
  const secret = input.secret ?? createApiKey();
  const doc: Complete<KeyDoc> = {
    id: createId('key', nowMs),
    accountId,
    version: 1,
    hash: hashApiKey(secret),
    ...checked,
    scopes: [...new Set(wanted)],
    lastCharacters: secret.slice(-4),
    createdAt: nowMs,
    lastUsedAt: null,
    namesQueries: namesQueries(checked.limits),
    secretPins: undefined,
    budgets: undefined,
    ownBudget: undefined,
    maker: undefined,
    madeBy: undefined,
    personId: undefined,
    successor: undefined,
  };
  return { doc: withoutUndefined<KeyDoc>(doc), secret };
}

export interface KeyPatch {
  name?: string | undefined;
  /** These replace the limits of the same names; the others stay. */
  limits: KeyLimitValues;
  /** Names of limits to remove. */
  removedLimits: readonly string[];
  /** Null for a key that does not expire. */
  expiresAt?: number | null | undefined;
  /** The key no longer ends with its person. */
  handOver?: boolean | undefined;
}

export function patchKey(key: KeyDoc, patch: KeyPatch, nowMs: number): KeyDoc {
  const check = createChecker();
  const limits = { ...key.limits, ...patch.limits };
  patch.removedLimits.forEach((name, index) => {
    delete limits[fieldOf(check.oneOf(['removedLimits', index], name, keyLimitNames))];
  });
  const { name = key.name, expiresAt = key.expiresAt } = patch;
  const { personId, namesQueries: _, ...kept } = key;
  const owner = personId === undefined || patch.handOver ? {} : { personId };
  const next = { ...kept, ...owner, ...checkMembers(check, { name, limits, expiresAt }, nowMs) };
  checkUser(check, next.scopes, limits);
  const named = namesQueries(limits);
  check.done();
  return named === undefined ? next : { ...next, namesQueries: named };
}

const namesQueries = ({ queries }: KeyLimitValues): 1 | undefined => (queries === undefined ? undefined : 1);

/** What can be changed, too. */
type Members = Pick<NewKey, 'name' | 'limits' | 'expiresAt'>;

function checkMembers(check: Checker, { name, limits, expiresAt }: Members, nowMs: number): Members {
  const checked = { name: check.label(['name'], name), limits, expiresAt };
  if (expiresAt !== null && expiresAt <= nowMs) check.fault(['expiresAt'], 'must lie in the future');
  if (limits.queryIds !== undefined && limits.queries !== undefined)
    check.fault(
      ['limits', 'queries'],
      'cannot be set beside queryIds. Send null for the one that the key no longer needs',
    );
  for (const limit of keyLimitNames) checkLimit[keyLimits[limit].kind](check, limit, limits[fieldOf(limit)]);
  return checked;
}

/** Bounds of the values of each kind of limit. The gateway checks numbers and the form of origins. */
const checkLimit: Record<KeyLimitKind, (check: Checker, limit: KeyLimit, value: unknown) => void> = {
  list: (check, limit, value = []) => {
    const entries = value as string[];
    const { entries: count, originLength } = keyLimitBounds;
    if (limit === 'queries')
      for (const [i, name] of entries.entries())
        if (!isQueryName.test(name) || name.length > queryNameLength.max)
          check.fault(
            ['limits', limit, i],
            'must be a name such as shop/orders/by-region, or the id of a query',
          );
    if (entries.length > count.max) check.fault(['limits', limit], `must have at most ${count.max} entries`);
    if (limit === 'origins' && entries.some((origin) => origin.length > originLength.max))
      check.fault(['limits', limit], `must be of at most ${originLength.max} characters each`);
  },
  pinned: (check, limit, value = '{}') => {
    const { pinnedJsonLength } = keyLimitBounds;
    checkPinned(check, ['limits', limit], value as string);
    if ((value as string).length > pinnedJsonLength.max)
      check.fault(['limits', limit], `must have at most ${pinnedJsonLength.max} characters of JSON`);
  },
  upperBound: () => {},
  flag: () => {},
  same: (check, limit, value) => {
    if (value !== undefined) checkUserLimit(check, ['limits', limit], value as UserLimit);
  },
};

/** A name that no variable can have would pin nothing, and its author would believe that it does. */
function checkPinned(check: Checker, path: FieldPath, contextJson: string): void {
  const pinned = parseObject(check, path, contextJson);
  if (!Object.keys(pinned).every((name) => variableName.test(name)))
    check.fault(path, 'holds a name that no variable can have');
}

function checkUserLimit(check: Checker, path: FieldPath, limit: UserLimit): void {
  const { issuerLength, audienceLength, jwksUrlLength, claims: count, claimPathLength } = userLimitBounds;
  check.text([...path, 'issuer'], limit.issuer, issuerLength);
  check.text([...path, 'audience'], limit.audience, audienceLength);
  if (limit.jwksUrl !== undefined) check.text([...path, 'jwks'], limit.jwksUrl, jwksUrlLength);
  for (const fault of faultsOfUserLimit(limit)) check.fault([...path, ...fault.path], fault.detail);
  if (limit.claims.length < count.min || limit.claims.length > count.max)
    check.fault([...path, 'claims'], `must have ${count.min} to ${count.max} variables`);
  for (const { variable, path: claim } of limit.claims) {
    if (!variableName.test(variable))
      check.fault([...path, 'claims'], 'holds a name that no variable can have');
    check.text([...path, 'claims', variable], claim, claimPathLength);
  }
}

/** The scopes that a key with `limits.user` may have. All else could reach rows of every user. */
const userScopes = ['queries:execute', 'queries:execute:write', 'classifiers:predict', 'ai:summarize'];

/** The rules for a key with `limits.user` that concern its other members, too. */
function checkUser(check: Checker, scopes: readonly string[], limits: KeyLimitValues): void {
  const { user, contextJson } = limits;
  const [limit, named] =
    limits.queries === undefined ? ['queryIds', limits.queryIds ?? []] : ['queries', limits.queries];
  if (user === undefined) return;
  if (!scopes.every((scope) => userScopes.includes(scope)))
    check.fault(['limits', 'user'], `needs a key that has only scopes of ${userScopes.join(', ')}`);
  if (named.length === 0)
    check.fault(['limits', limit], 'must list the queries of the key, because it has limits.user');
  user.public.forEach((id, index) => {
    if (!named.includes(id)) check.fault(['limits', 'user', 'public', index], `is not among limits.${limit}`);
  });
  const pinned = Object.keys(Object(parseJson(contextJson ?? '{}')));
  for (const { variable } of user.claims)
    if (pinned.includes(variable))
      check.fault(['limits', 'user', 'claims', variable], 'is pinned by limits.context, too');
}

export const unknownKey = () => new HubError('KEY_INVALID', 'This key is unknown or was revoked.');

/** Throws KEY_INVALID or KEY_EXPIRED. */
export function requireValid(key: KeyDoc | null, nowMs: number): asserts key is KeyDoc {
  if (key === null) throw unknownKey();
  if (key.expiresAt === null || key.expiresAt > nowMs) return;
  throw new HubError('KEY_EXPIRED', 'This key has expired.');
}

/**
 * The principal of a key, as calls of the other services carry it. Throws KEY_INVALID for a key with a limit that a newer
 * version added, since nothing here would enforce it.
 */
export function toPrincipal(key: KeyDoc): Complete<Principal> {
  const unknown = unknownLimitOf(key.limits);
  if (unknown !== undefined)
    throw new HubError(
      'KEY_INVALID',
      `This key has the limit ${unknown}, which this version of the hub does not know. Start a newer version.`,
    );
  return {
    accountId: key.accountId,
    keyId: key.id,
    scopes: key.scopes,
    limits: toLimits(key.limits),
    budgets: key.budgets && { budgets: key.budgets },
    firstKeyId: key.ownBudget,
    // Only the gateway knows the signed-in user.
    user: undefined,
    person: undefined,
  };
}

type Same<A, B> = [A, B] extends [B, A] ? true : never;
// If this does not compile, the message KeyLimits and the contract's table have different limits.
true satisfies Same<keyof KeyLimits, keyof KeyLimitFields>;

export const toLimits: (limits: KeyLimitValues) => KeyLimits = toFields;
