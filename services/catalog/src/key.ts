/** API keys as documents: pure rules. */

import { grantableScopes } from '@datahub/contract/scopes';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { type Checker, createChecker } from './check.ts';
import type { KeyDoc, KeyLimitsDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';
import { parsed, variableName } from './query.ts';

export interface NewKey {
  name: string;
  scopes: string[];
  limits: KeyLimitsDoc;
  expiresAt: number | null;
  /** A key that the operator brings. */
  secret?: string;
}

export interface MadeKey {
  doc: KeyDoc;
  /** The key in full; kept nowhere. */
  secret: string;
}

const listMax = 200;
/** What is pinned goes along with every call of the key. */
const contextCharactersMax = 16_384;
const originCharactersMax = 300;

export function makeKey(input: NewKey, { accountId, nowMs, createId }: MakeContext): MadeKey {
  const check = createChecker();
  const name = check.label(['name'], input.name);
  const wanted = input.scopes.length === 0 ? ['queries:execute'] : input.scopes;
  wanted.forEach((scope, index) => {
    check.oneOf(['scopes', index], scope, grantableScopes);
  });
  if (input.expiresAt !== null && input.expiresAt <= nowMs)
    check.fault(['expiresAt'], 'must lie in the future');
  for (const list of ['hubIds', 'queryIds', 'origins'] as const) {
    if ((input.limits[list]?.length ?? 0) > listMax)
      check.fault(['limits', list], `must have at most ${listMax} entries`);
  }
  checkPinned(check, input.limits.contextJson);
  if ((input.limits.contextJson?.length ?? 0) > contextCharactersMax)
    check.fault(['limits', 'context'], `must have at most ${contextCharactersMax} characters of JSON`);
  if (input.limits.origins?.some((origin) => origin.length > originCharactersMax))
    check.fault(['limits', 'origins'], `must be of at most ${originCharactersMax} characters each`);
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

/** What can be no variable's name pins nothing, and whoever wrote it believes that it does. */
function checkPinned(check: Checker, contextJson: string | undefined): void {
  const pinned = parsed(contextJson ?? '{}');
  if (typeof pinned !== 'object' || pinned === null || Array.isArray(pinned)) {
    check.fault(['limits', 'context'], 'must be a JSON object');
  } else if (!Object.keys(pinned).every((name) => variableName.test(name))) {
    check.fault(['limits', 'context'], 'holds a name that no variable can have');
  }
}
