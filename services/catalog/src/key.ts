/** API keys as documents: pure rules. */

import {
  fieldOf,
  type KeyLimit,
  type KeyLimitKind,
  type KeyLimitValues,
  keyLimitBounds,
  keyLimitNames,
  keyLimits,
} from '@datahub/contract/key-limits';
import { grantableScopes } from '@datahub/contract/scopes';
import type { FieldPath } from '@datahub/contract/validation-error';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { type Checker, createChecker } from './check.ts';
import type { KeyDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';
import { parseJson, variableName } from './query.ts';

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
  const name = check.label(['name'], input.name);
  const wanted = input.scopes.length === 0 ? ['queries:execute'] : input.scopes;
  wanted.forEach((scope, index) => {
    check.oneOf(['scopes', index], scope, grantableScopes);
  });
  if (input.expiresAt !== null && input.expiresAt <= nowMs)
    check.fault(['expiresAt'], 'must lie in the future');
  for (const limit of keyLimitNames)
    checkLimit[keyLimits[limit].kind](check, limit, input.limits[fieldOf(limit)]);
  check.done();
  const secret = input.secret ?? createApiKey();
  const doc: KeyDoc = {
    id: createId('key', nowMs),
    accountId,
    version: 1,
    hash: hashApiKey(secret),
    name,
    scopes: [...new Set(wanted)],
    limits: input.limits,
    lastCharacters: secret.slice(-4),
    createdAt: nowMs,
    expiresAt: input.expiresAt,
    lastUsedAt: null,
  };
  return { doc, secret };
}

/** Bounds of the values of each kind of limit. The gateway checks numbers and the form of origins. */
const checkLimit: Record<KeyLimitKind, (check: Checker, limit: KeyLimit, value: unknown) => void> = {
  list: (check, limit, value = []) => {
    const entries = value as string[];
    const { entries: count, originLength } = keyLimitBounds;
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
};

/** A name that no variable can have would pin nothing, and its author would believe that it does. */
function checkPinned(check: Checker, path: FieldPath, contextJson: string): void {
  const pinned = parseJson(contextJson);
  if (typeof pinned !== 'object' || pinned === null || Array.isArray(pinned)) {
    check.fault(path, 'must be a JSON object');
  } else if (!Object.keys(pinned).every((name) => variableName.test(name))) {
    check.fault(path, 'holds a name that no variable can have');
  }
}
