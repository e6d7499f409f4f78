/**
 * Verifies tokens by the rules of RFC 8725. Loaded with the first token, because loading `jose` takes 30 ms of CPU.
 */

import type { UserLimit } from '@datahub/contract/user-limit';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { createIssuerKeys, type IssuerKeysOptions, type KeySet } from './issuer-keys.ts';

/** The claims of a token that is valid for the limit `user` of the principal. */
export type VerifyToken = (principal: Principal, token: string) => Promise<VerifiedClaims>;

export interface VerifiedClaims {
  subject: string;
  /** Seconds since 1970. */
  expiresAt: number;
}

/** Asymmetric ones only: with HMAC, everybody who can verify a token can also sign one. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const clockSkewS = 60;
const latestExpiryS = Date.UTC(10_000, 0) / 1_000;

/** Rejects with TOKEN_INVALID, or UNAVAILABLE if the keys of the issuer are missing. */
export function createTokenVerifier(options: IssuerKeysOptions & { nowMs: () => number }): VerifyToken {
  const issuerKeys = createIssuerKeys(options);
  const verify = async (principal: Principal, token: string): Promise<JWTPayload> => {
    const limit = principal.limits?.user as UserLimit;
    const { issuer, audience } = limit;
    const wanted = { issuer, audience, currentDate: new Date(options.nowMs()) };
    try {
      return await verifyWith(await issuerKeys.of(limit, principal), token, wanted);
    } catch (err) {
      if (!(err instanceof errors.JWKSNoMatchingKey)) throw err;
      const newer = await issuerKeys.newer(limit, principal);
      if (newer === undefined) throw err;
      return verifyWith(newer, token, wanted);
    }
  };
  return async (principal, token) => {
    try {
      const { sub, exp } = await verify(principal, token);
      // The library only checks that it is there.
      if (typeof sub !== 'string' || sub === '')
        throw invalidToken('The claim sub of the token must be a text that is not empty.');
      const expiresAt = exp as number;
      // 1e400 is infinite.
      if (expiresAt >= latestExpiryS)
        throw invalidToken('The claim exp of the token must be a time before the year 10000.');
      return { subject: sub, expiresAt };
    } catch (err) {
      throw err instanceof HubError ? err : invalidToken(reasonOf(err), err);
    }
  };
}

async function verifyWith(keys: KeySet, token: string, wanted: JWTVerifyOptions): Promise<JWTPayload> {
  const options = { ...wanted, algorithms, clockTolerance: clockSkewS, requiredClaims: ['exp', 'sub'] };
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (err) {
    if (!(err instanceof errors.JWKSMultipleMatchingKeys)) throw err;
    // The token does not name its key.
    for await (const key of err) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

const invalidToken = (message: string, cause?: unknown) => new HubError('TOKEN_INVALID', message, { cause });

/** Repeats nothing of the token. */
function reasonOf(err: unknown): string {
  if (err instanceof errors.JWTExpired) return 'The token has expired. Sign in again.';
  if (err instanceof errors.JWTClaimValidationFailed) return reasonOfClaim(err);
  if (err instanceof errors.JOSEAlgNotAllowed)
    return `The token is not signed with ${algorithms.slice(0, -1).join(', ')} or ${algorithms.at(-1)}.`;
  if (err instanceof errors.JWKSNoMatchingKey)
    return 'The token is signed by a key that its issuer does not list.';
  if (err instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is not valid.';
  return 'The token is not a signed JSON Web Token that the hub can read.';
}

function reasonOfClaim({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return `The token has no claim ${claim}.`;
  switch (claim) {
    case 'iss':
      return 'The token is from another issuer than limits.user of this key names.';
    case 'aud':
      return 'The token is for another audience than limits.user of this key names.';
    case 'nbf':
      return 'The token is not valid yet.';
    default:
      return `The claim ${claim} of the token is not valid.`;
  }
}
