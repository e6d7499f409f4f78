/** The codes of sign-in links: one at a time, for one use, for five minutes. They exist in memory only. */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CatalogService } from '@datahub/catalog/service';
import type { SignIn } from '@datahub/gateway/open/sign-in';
import { hashApiKey } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';

export interface SignInLinks extends SignIn {
  /** A new code; an earlier one becomes invalid. The new key may do what `apiKey` may do. */
  createCode(apiKey: string): string;
}

const codeLifetimeMs = 5 * 60_000;
const keyLifetimeMs = 12 * 3_600_000;
const callTimeoutMs = 10_000;

const digest = (code: string) => hash('sha256', code, 'buffer');

export function createSignInLinks({
  catalog,
  nowMs,
}: {
  catalog: Pick<CatalogService['calls'], 'authenticate' | 'createKey'>;
  nowMs: () => number;
}): SignInLinks {
  let pending: { codeDigest: Buffer; keySha256: Buffer; expiresAtMs: number } | undefined;
  return {
    createCode: (apiKey) => {
      const code = randomBytes(32).toString('base64url');
      const keySha256 = Buffer.from(hashApiKey(apiKey), 'hex');
      pending = { codeDigest: digest(code), keySha256, expiresAtMs: nowMs() + codeLifetimeMs };
      return code;
    },

    redeem: async (code) => {
      if (pending === undefined || !timingSafeEqual(digest(code), pending.codeDigest)) return undefined;
      const { keySha256, expiresAtMs } = pending;
      // Before anything is awaited, so that of two requests only one gets a key.
      pending = undefined;
      if (nowMs() >= expiresAtMs) return undefined;
      const { principal } = await catalog.authenticate(
        { keySha256 },
        createCallContext({ timeoutMs: callTimeoutMs }),
      );
      if (principal === undefined) return undefined;
      const expiresAt = new Date(nowMs() + keyLifetimeMs);
      const { key, secret } = await catalog.createKey(
        { name: 'sign-in link', scopes: principal.scopes, limits: undefined, expiresAt },
        createCallContext({ timeoutMs: callTimeoutMs, principal }),
      );
      return key === undefined ? undefined : { key: secret, keyId: key.keyId, expiresAt };
    },
  };
}
