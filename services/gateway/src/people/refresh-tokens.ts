/**
 * The provider's refresh tokens, with which the hub asks whether the provider still knows a person. The catalog stores
 * them sealed with a key that is derived from the hub's secret at the provider, so that a copy of the store has none.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { SignInRequest } from '@datahub/proto/catalog/v1/people';
import type { OidcSettings } from './oidc-settings.ts';
import type { SignedInPerson } from './provider.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** How long the groups count that the provider said, if there is no refresh token. */
const confirmedMs = 12 * 3_600_000;
/** What the hub itself may take to ask the provider again, and to wait for its answer. */
const askingMs = 300_000;

interface Of {
  issuer: string;
  subject: string;
}

const keyOf = ({ clientSecret }: OidcSettings): Buffer =>
  Buffer.from(hkdfSync('sha256', clientSecret, '', 'refresh tokens of people', 32));
const bindingOf = ({ issuer, subject }: Of): Buffer => Buffer.from(JSON.stringify([issuer, subject]));

export function sealToken(settings: OidcSettings, of: Of, token: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, keyOf(settings), nonce).setAAD(bindingOf(of));
  return Buffer.concat([nonce, sealing.update(token, 'utf8'), sealing.final(), sealing.getAuthTag()]);
}

/** Undefined for a token that was sealed for another person, or with another secret. */
export function openToken(settings: OidcSettings, of: Of, sealed: Uint8Array): string | undefined {
  const bytes = Buffer.from(sealed);
  try {
    const opening = createDecipheriv(cipher, keyOf(settings), bytes.subarray(0, nonceBytes));
    opening.setAAD(bindingOf(of)).setAuthTag(bytes.subarray(-tagBytes));
    return opening.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + opening.final('utf8');
  } catch {
    return undefined;
  }
}

/** What the catalog stores of a person whom the provider has just confirmed. */
export function toSignIn(
  { refreshToken, ...person }: SignedInPerson,
  settings: OidcSettings,
  nowMs: number,
): SignInRequest {
  const { account, refreshMs, awayMs } = settings;
  if (refreshToken === undefined)
    return { ...person, account, confirmedUntil: new Date(nowMs + confirmedMs) };
  return {
    ...person,
    account,
    confirmedUntil: new Date(nowMs + refreshMs + askingMs + awayMs),
    refreshToken: sealToken(settings, person, refreshToken),
    refreshAt: new Date(nowMs + refreshMs),
  };
}
