/**
 * `limits.user` of a key: calls also need the token of a signed-in user, whose claims pin variables. The gateway reads
 * the claims of each token with these functions, and the console shows with them what a token would pin.
 */

import type { FieldFault } from './validation-error.ts';

export interface UserLimit {
  /** The claim `iss` of accepted tokens. */
  issuer: string;
  /** A member of their claim `aud`. */
  audience: string;
  /** The address of the issuer's keys. Without it and `jwksJson`, the issuer's OpenID configuration names it. */
  jwksUrl?: string | undefined;
  /** The keys themselves, as a JSON Web Key Set. */
  jwksJson?: string | undefined;
  claims: Claim[];
  /** The rate of each user. */
  ratePerMinute?: number | undefined;
  /** The ids of queries that need not use the variables of the claims. */
  public: string[];
}

/** Pins a variable to a claim. */
export interface Claim {
  variable: string;
  /** The name of the claim, or the names of members with dots between them. */
  path: string;
}

export const userLimitBounds = {
  issuerLength: { min: 1, max: 300 },
  audienceLength: { min: 1, max: 300 },
  jwksUrlLength: { min: 1, max: 1_000 },
  jwksJsonLength: { min: 2, max: 16_384 },
  jwksKeys: { min: 1, max: 20 },
  claims: { min: 1, max: 20 },
  claimPathLength: { min: 1, max: 200 },
} as const;

/** The members in one order and without undefined ones, so that equal limits have equal JSON. */
export function toUserLimit(limit: UserLimit): UserLimit {
  const { issuer, audience, jwksUrl, jwksJson, claims, ratePerMinute, public: open } = limit;
  return {
    issuer,
    audience,
    ...(jwksUrl === undefined ? {} : { jwksUrl }),
    ...(jwksJson === undefined ? {} : { jwksJson }),
    claims: claims.map(({ variable, path }) => ({ variable, path })),
    ...(ratePerMinute === undefined ? {} : { ratePerMinute }),
    public: open,
  };
}

/** The faults of a limit, with paths that begin inside it. */
export function faultsOfUserLimit({ issuer, jwksUrl, jwksJson }: UserLimit): FieldFault[] {
  const faults: FieldFault[] = [];
  const namesKeys = jwksUrl !== undefined || jwksJson !== undefined;
  if (!namesKeys && !isHttpsAddress(issuer)) {
    const detail =
      'must be an https address without a query, because its keys are fetched from it; or send jwks';
    faults.push({ path: ['issuer'], detail });
  }
  if (jwksUrl !== undefined && !isHttpsAddress(jwksUrl, { query: true }))
    faults.push({ path: ['jwks'], detail: 'must be an https address, or the keys themselves' });
  const detail = jwksJson === undefined ? undefined : faultOfKeySet(jwksJson);
  if (detail !== undefined) faults.push({ path: ['jwks'], detail });
  return faults;
}

/** True for an https URL without a user and a fragment. */
export function isHttpsAddress(text: string, { query = false } = {}): boolean {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || !/^https:\/\//i.test(text)) return false;
  return url.username === '' && url.password === '' && url.hash === '' && (query || url.search === '');
}

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

function faultOfKeySet(json: string): string | undefined {
  const { jwksKeys, jwksJsonLength } = userLimitBounds;
  if (json.length > jwksJsonLength.max) return `must have at most ${jwksJsonLength.max} characters of JSON`;
  const keys = readKeys(json);
  if (!Array.isArray(keys) || keys.length < jwksKeys.min || keys.length > jwksKeys.max)
    return `must have a list keys of ${jwksKeys.min} to ${jwksKeys.max} JSON Web Keys`;
  if (!keys.every(isPublicKey))
    return 'must have public keys only, with kty RSA (at most 4,096 bits), EC or OKP: a private or symmetric key could sign tokens';
  return undefined;
}

function readKeys(json: string): unknown {
  try {
    return (JSON.parse(json) as { keys?: unknown } | null)?.keys;
  } catch {
    return undefined;
  }
}

/** Characters of base64url, of 4,096 bits with a zero byte before them, and of 32 bits. */
const rsaLengths = { n: 684, e: 6 };

/** True for a public key with which checking a signature takes less than 1 ms. */
export function isPublicKey(key: unknown): boolean {
  if (typeof key !== 'object' || key === null) return false;
  if (privateMembers.some((member) => Object.hasOwn(key, member))) return false;
  const { kty, n, e } = key as { kty?: unknown; n?: unknown; e?: unknown };
  if (kty !== 'RSA') return kty === 'EC' || kty === 'OKP';
  return isShort(n, rsaLengths.n) && isShort(e, rsaLengths.e);
}

const isShort = (text: unknown, lengthMax: number) => typeof text === 'string' && text.length <= lengthMax;

/**
 * The values that a token's claims pin, by variable, and the paths of claims that are missing. Null, an object, and a
 * list that holds one of them count as missing.
 */
export function pinnedClaims(
  payload: object,
  claims: readonly Claim[],
): { values: [variable: string, value: unknown][]; missing: string[] } {
  const values: [string, unknown][] = [];
  const missing: string[] = [];
  for (const { variable, path } of claims) {
    const value = readClaim(payload, path);
    if (isScalar(value) || (Array.isArray(value) && value.every(isScalar))) values.push([variable, value]);
    else missing.push(path);
  }
  return { values, missing };
}

/** The name of a claim can have dots, as in `https://shop.example/tenant`, so the whole path is tried first. */
export function readClaim(payload: object, path: string): unknown {
  if (Object.hasOwn(payload, path)) return (payload as Record<string, unknown>)[path];
  let at: unknown = payload;
  for (const name of path.split('.')) {
    const holds = typeof at === 'object' && at !== null && !Array.isArray(at) && Object.hasOwn(at, name);
    at = holds ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at;
}

/** `parseExact` makes objects of numbers that a double would change. */
const isRawNumber = (value: object): boolean => 'rawJSON' in value && Object.isFrozen(value);

function isScalar(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return isRawNumber(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
