/**
 * Fetches the public keys of issuers of tokens over HTTPS. Users choose the addresses, so the rules for addresses of
 * sources apply.
 */

import { isPublicKey, userLimitBounds } from '@datahub/contract/user-limit';
import type { FetchIssuerKeysRequest, FetchIssuerKeysResponse } from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { type FetchDeps, type Fetching, fetchJsonObject, inTurn } from './json-object.ts';

export function fetchIssuerKeys(
  request: FetchIssuerKeysRequest,
  deps: FetchDeps,
): Promise<FetchIssuerKeysResponse> {
  return inTurn(deps, faults, (fetching) => fetchKeys(request, fetching));
}

async function fetchKeys({ issuer, jwksUrl }: FetchIssuerKeysRequest, fetching: Fetching) {
  const address = jwksUrl ?? (await findAddress(issuer, fetching));
  const { keys } = await fetchJsonObject(address, fetching, faults);
  // Only the needed members go on, and a private key that was published by mistake does not.
  const usable = (Array.isArray(keys) ? keys : []).filter(isPublicKey).slice(0, userLimitBounds.jwksKeys.max);
  if (usable.length === 0) throw faults.unusable('its key set has no public key');
  return { jwksJson: JSON.stringify({ keys: usable }) };
}

/** The address that the issuer's OpenID configuration names (OpenID Connect Discovery 1.0, section 4). */
async function findAddress(issuer: string, fetching: Fetching): Promise<string> {
  const configuration = await fetchJsonObject(
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    fetching,
    faults,
  );
  if (configuration.issuer !== issuer) throw faults.unusable('its OpenID configuration names another issuer');
  const { jwks_uri: address } = configuration;
  if (typeof address !== 'string') throw faults.unusable('its OpenID configuration names no jwks_uri');
  return address;
}

const unavailable = (reason: string, cause?: unknown) =>
  new HubError('UNAVAILABLE', `The keys of the issuer of tokens are missing. ${reason}`, {
    cause,
    stage: 'connect',
    retryable: true,
  });

const faults = {
  busy: (cause: unknown) => unavailable('Too many issuers of this account answer slowly.', cause),
  unreachable: (cause: unknown) => unavailable('They cannot be reached over HTTPS from the hub.', cause),
  unusable: (reason: string, cause?: unknown) => unavailable(`The issuer was reached, but ${reason}.`, cause),
};
