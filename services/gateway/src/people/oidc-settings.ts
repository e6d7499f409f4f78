/** The settings of sign-in by OpenID Connect. */

import { readFileSync } from 'node:fs';
import type { SettingsReader } from '@datahub/service-kit/settings/settings';

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string;
  /** The claim with the groups: a name, or names of members with dots between them. */
  groupsClaim: string;
  /** The account that people sign in to; empty for the first one. */
  account: string;
  /** How often the provider is asked whether it still knows a person. */
  refreshMs: number;
  /** How long what it said holds while it cannot be reached. */
  awayMs: number;
  /** The origin that browsers load the hub from. */
  publicOrigin: string;
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Undefined if sign-in is off. */
export function readOidc(reader: SettingsReader, publicOrigin: string | undefined): OidcSettings | undefined {
  const issuer = reader.optional('DATAHUB_OIDC_ISSUER');
  if (issuer === undefined) return undefined;
  const why = 'DATAHUB_OIDC_ISSUER turns on sign-in, which needs it.';
  if (!isSafeOrigin(issuer))
    reader.fault('DATAHUB_OIDC_ISSUER must begin with https://, or be on this machine.');
  if (publicOrigin === undefined) reader.fault(`DATAHUB_PUBLIC_ORIGIN is not set: ${why}`);
  else if (!isSafeOrigin(publicOrigin))
    reader.fault('DATAHUB_PUBLIC_ORIGIN must begin with https:// for sign-in, or be on this machine.');
  const scopes = reader.text('DATAHUB_OIDC_SCOPES');
  if (!scopes.split(' ').includes('openid')) reader.fault('DATAHUB_OIDC_SCOPES must contain openid.');
  return {
    issuer,
    clientId: reader.required('DATAHUB_OIDC_CLIENT_ID', why),
    clientSecret: readSecret(reader, why),
    scopes,
    groupsClaim: reader.text('DATAHUB_OIDC_GROUPS_CLAIM'),
    account: reader.text('DATAHUB_OIDC_ACCOUNT', ''),
    refreshMs: reader.integer('DATAHUB_OIDC_REFRESH_MS'),
    awayMs: reader.integer('DATAHUB_OIDC_AWAY_MS'),
    publicOrigin: publicOrigin ?? '',
  };
}

/** https, or on this machine. */
export function isSafeOrigin(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
}

function readSecret(reader: SettingsReader, why: string): string {
  const file = reader.optional('DATAHUB_OIDC_CLIENT_SECRET_FILE');
  if (file === undefined) return reader.required('DATAHUB_OIDC_CLIENT_SECRET', why);
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret === '') reader.fault('The file of DATAHUB_OIDC_CLIENT_SECRET_FILE is empty.');
    return secret;
  } catch {
    reader.fault('The file of DATAHUB_OIDC_CLIENT_SECRET_FILE cannot be read.');
    return '';
  }
}
