/** The settings of the authorization server, and the addresses that follow from them. */

import type { SettingsReader } from '@datahub/service-kit/settings/settings';
import { isSafeOrigin } from '../people/oidc-settings.ts';

export interface OAuthSettings {
  /** The issuer: the origin that browsers load the hub from. */
  issuer: string;
  /** Whether clients can register themselves. */
  registration: boolean;
}

/** Undefined if agents cannot connect by address alone. */
export function readOAuth(
  reader: SettingsReader,
  publicOrigin: string | undefined,
): OAuthSettings | undefined {
  const registration = reader.flag('DATAHUB_OAUTH_REGISTRATION');
  if (publicOrigin !== undefined && isSafeOrigin(publicOrigin)) return { issuer: publicOrigin, registration };
  if (registration)
    reader.fault('DATAHUB_OAUTH_REGISTRATION needs DATAHUB_PUBLIC_ORIGIN, with https or on this machine.');
  return undefined;
}

/** The resources of the hub (RFC 8707). */
export const resourceOf = {
  mcp: ({ issuer }: OAuthSettings) => `${issuer}/mcp`,
  api: ({ issuer }: OAuthSettings) => `${issuer}/v1`,
};

export const metadataPath = '/.well-known/oauth-protected-resource';

/** The header of a 401, with which a client of MCP finds the authorization server (RFC 9728). */
export const challengeOf = ({ issuer }: OAuthSettings): string =>
  `Bearer resource_metadata="${issuer}${metadataPath}/mcp"`;
