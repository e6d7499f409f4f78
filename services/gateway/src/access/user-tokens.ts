/**
 * The users of keys with `limits.user`: verifies their tokens, and pins the claims. A token that was verified lately costs
 * a hash and a look-up. Tokens are neither stored nor logged: the cache has their digests.
 */

import { hash } from 'node:crypto';
import { parseExact } from '@datahub/contract/exact-json';
import { sessionBounds } from '@datahub/contract/session-settings';
import { pinnedClaims } from '@datahub/contract/user-limit';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import { loadOnce } from '@datahub/service-kit/load-once';
import { JsonBody } from '../http/json-body.ts';
import { RequestError } from '../http/request-error.ts';
import type { IssuerKeysOptions } from './issuer-keys.ts';
import { createPrincipalCache } from './principal-cache.ts';
import type { VerifyToken } from './token-verifier.ts';

export interface UserTokens {
  /**
   * Returns the principal of the user: its pinned variables include the claims of the token. Returns a promise only for a
   * token that is not cached. Throws or rejects with TOKEN_INVALID, or UNAVAILABLE if the issuer's keys are missing.
   */
  verify(principal: Principal, authorization: string | undefined): Principal | Promise<Principal>;
}

export interface UserTokensOptions extends IssuerKeysOptions {
  /** The wall-clock time. */
  nowMs?: () => number;
}

interface Verified {
  principal: Principal;
  untilMs: number;
}

const tokenLengthMax = 8_192;
const verifiedMax = 20_000;
const verifiedMs = 300_000;

export function createUserTokens(options: UserTokensOptions): UserTokens {
  const { nowMs = Date.now } = options;
  const verified = createPrincipalCache<Verified>(verifiedMax);
  // The cached principals of a key are other objects once the gateway has asked the catalog again.
  const digests = new WeakMap<Principal, string>();

  const load = loadOnce(async (): Promise<VerifyToken> => {
    const { createTokenVerifier } = await import('./token-verifier.ts');
    return createTokenVerifier({ ...options, nowMs });
  });

  /** A digest of everything in the key that the user's principal depends on. */
  const digestOf = (principal: Principal): string => {
    const digest = digests.get(principal) ?? hash('sha256', JSON.stringify(principal), 'base64url');
    digests.set(principal, digest);
    return digest;
  };

  const verifyNew = async (name: string, token: string, principal: Principal): Promise<Principal> => {
    const { subject, expiresAt } = await (await load())(principal, token);
    const ofUser = pinClaims(principal, token, subject);
    verified.set(name, { principal: ofUser, untilMs: Math.min(nowMs() + verifiedMs, expiresAt * 1_000) });
    return ofUser;
  };

  return {
    verify: (principal, authorization) => {
      const token = readToken(authorization);
      const name = hash('sha256', digestOf(principal) + token, 'base64url');
      const known = verified.get(name);
      if (known !== undefined && known.untilMs > nowMs()) return known.principal;
      return verifyNew(name, token, principal);
    },
  };
}

const invalidToken = (message: string) => new HubError('TOKEN_INVALID', message);

function readToken(authorization: string | undefined): string {
  const token = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined)
    throw invalidToken(
      'This key needs the token of a signed-in user. Send it in the header Authorization: Bearer.',
    );
  if (token.length <= tokenLengthMax) return token;
  throw invalidToken(
    `The token has more than ${tokenLengthMax} characters. Let the issuer put fewer claims into it.`,
  );
}

/** The principal of a user. Its limit keeps only what the executor checks. */
function pinClaims(principal: Principal, token: string, subject: string): Principal {
  const { limits } = principal;
  const user = limits?.user;
  if (limits === undefined || user === undefined) return principal;
  const payload = readPayload(token);
  const { values, missing } = pinnedClaims(payload, user.claims);
  const claimsJson = JSON.stringify(payload);
  if (missing.length > 0)
    throw invalidToken(
      `The token has no claim ${missing.join(', ')}, or it is neither a value nor a list of values.`,
    );
  const pinned = limits.contextJson === '' ? [] : Object.entries(parseExact(limits.contextJson) as object);
  const contextJson = JSON.stringify(Object.fromEntries([...pinned, ...values]));
  const { issuer, audience, claims, public: open } = user;
  return {
    ...principal,
    limits: { ...limits, contextJson, user: { issuer, audience, claims, public: open } },
    user: {
      issuer,
      subject,
      claimsJson: Buffer.byteLength(claimsJson) > sessionBounds.claimsBytes.max ? undefined : claimsJson,
    },
  };
}

/**
 * Parsed again, because the library's numbers are doubles, and it accepts texts that no other service would get as they
 * are: half a surrogate pair becomes U+FFFD, so that two users would have one name.
 */
function readPayload(token: string): object {
  const body = new JsonBody();
  try {
    body.push(Buffer.from(token.split('.')[1] as string, 'base64url'));
    const { value, exactText } = body.end();
    return (exactText === undefined ? value : parseExact(exactText)) as object;
  } catch (err) {
    if (!(err instanceof RequestError)) throw err;
    const [{ pointer, detail } = { pointer: '', detail: '' }] = err.faults;
    throw new HubError('TOKEN_INVALID', `The hub rejects the claims of the token: ${pointer} ${detail}.`, {
      cause: err,
    });
  }
}
