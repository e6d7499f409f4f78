/**
 * Fetches the public keys of issuers of tokens over HTTPS. Users choose the addresses, so the rules for addresses of
 * sources apply. Redirects are not followed, and time and size are bounded.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isHttpsAddress, isPublicKey, userLimitBounds } from '@datahub/contract/user-limit';
import type { FetchIssuerKeysRequest, FetchIssuerKeysResponse } from '@datahub/proto/executor/v1/executor';
import { orAborted } from '@datahub/service-kit/call/abort';
import { HubError } from '@datahub/service-kit/call/error';
import type { Dial } from './dialer.ts';
import { connectTo, requestOver } from './http-request.ts';

const timeoutMs = 5_000;
const bytesMax = 65_536;

export interface FetchKeysDeps {
  /** Waits for its turn among the fetches of all accounts. Resolves with a function that ends the turn. */
  admit(signal: AbortSignal): Promise<() => void>;
  dial: Dial;
  signal: AbortSignal;
}

type Deps = Omit<FetchKeysDeps, 'admit'>;

export async function fetchIssuerKeys(
  { issuer, jwksUrl }: FetchIssuerKeysRequest,
  { admit, dial, signal }: FetchKeysDeps,
): Promise<FetchIssuerKeysResponse> {
  const deps = { dial, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
  const leave = await admit(deps.signal).catch((err) => {
    throw unavailable('Too many issuers of this account answer slowly.', err);
  });
  try {
    return await fetchKeys({ issuer, jwksUrl }, deps);
  } catch (err) {
    throw deps.signal.aborted ? unusable(`it took longer than ${timeoutMs / 1_000} s`, err) : err;
  } finally {
    leave();
  }
}

async function fetchKeys({ issuer, jwksUrl }: FetchIssuerKeysRequest, deps: Deps) {
  const address = jwksUrl ?? (await findAddress(issuer, deps));
  const { keys } = await fetchObject(address, deps);
  // Only the needed members go on, and a private key that was published by mistake does not.
  const usable = (Array.isArray(keys) ? keys : []).filter(isPublicKey).slice(0, userLimitBounds.jwksKeys.max);
  if (usable.length === 0) throw unusable('its key set has no public key');
  return { jwksJson: JSON.stringify({ keys: usable }) };
}

/** The address that the issuer's OpenID configuration names (OpenID Connect Discovery 1.0, section 4). */
async function findAddress(issuer: string, deps: Deps): Promise<string> {
  const configuration = await fetchObject(
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    deps,
  );
  if (configuration.issuer !== issuer) throw unusable('its OpenID configuration names another issuer');
  const { jwks_uri: address } = configuration;
  if (typeof address !== 'string') throw unusable('its OpenID configuration names no jwks_uri');
  return address;
}

async function fetchObject(address: string, { dial, signal }: Deps): Promise<Record<string, unknown>> {
  if (!isHttpsAddress(address, { query: true })) throw unusable('it names an address that is not https');
  const url = new URL(address);
  const socket = await connectTo(url, { dial, signal }).catch((err) => {
    throw unavailable('They cannot be reached over HTTPS from the hub.', err);
  });
  try {
    const value = JSON.parse(await read(url, socket, signal)) as unknown;
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (err) {
    throw err instanceof HubError ? err : unusable('its answer was cut, or is not JSON', err);
  } finally {
    socket.destroy();
  }
  throw unusable('its answer is not a JSON object');
}

function read(url: URL, socket: Socket, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const refuse = ({ statusCode }: IncomingMessage) =>
    reject(unusable(`it answered with the status ${statusCode}, and redirects are not followed`));
  requestOver(socket, url, { signal, headers })
    .on('response', (response) => {
      if (response.statusCode === 200) collect(response).then(resolve, reject);
      else refuse(response);
    })
    .on('error', reject)
    // A 101 is no response to Node, and ends the request without an error.
    .on('upgrade', refuse)
    .end();
  return orAborted(promise, signal);
}

async function collect(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw unusable(`its answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const unavailable = (reason: string, cause?: unknown) =>
  new HubError('UNAVAILABLE', `The keys of the issuer of tokens are missing. ${reason}`, {
    cause,
    stage: 'connect',
    retryable: true,
  });

const unusable = (reason: string, cause?: unknown) =>
  unavailable(`The issuer was reached, but ${reason}.`, cause);
