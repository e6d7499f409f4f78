/** The calls of the hub's authorization server, as the client `datahub-cli` (OAuth 2.1). */

import { cliClient } from '@datahub/contract/people/oauth';
import { CommandError, exitCodes } from '../failure.ts';

const timeoutMs = 30_000;

export interface SignIn {
  accessToken: string;
  refreshToken: string;
  /** In milliseconds since 1970. */
  expiresAt: number;
}

export interface Server {
  issuer: string;
  authorization_endpoint: string;
}

/** Undefined if nobody can sign in at the hub with a browser. */
export async function findServer(url: string): Promise<Server | undefined> {
  const address = new URL('/.well-known/oauth-authorization-server', url);
  const response = await send(address, url);
  if (!response.ok) return undefined;
  const found = (await response.json()) as Server;
  const { origin } = new URL(url);
  // The tokens would be for another hub (RFC 8414, section 3.3).
  if (found.issuer !== origin)
    throw new CommandError(
      `The hub at ${origin} calls itself ${found.issuer}. Use: datahub login --url ${found.issuer}`,
    );
  return found;
}

/** Throws a CommandError if the hub refuses. */
export async function askForTokens(issuer: string, members: Record<string, string>): Promise<SignIn> {
  const answer = await post(issuer, '/oauth/token', { ...members, resource: `${issuer}/v1` });
  return {
    accessToken: String(answer.access_token),
    refreshToken: String(answer.refresh_token),
    expiresAt: Date.now() + Number(answer.expires_in) * 1_000,
  };
}

export const revoke = (issuer: string, token: string): Promise<unknown> =>
  post(issuer, '/oauth/revoke', { token });

/** `hub`: what the error names if nobody answers. */
const send = (address: URL, hub: string, init: RequestInit = {}): Promise<Response> =>
  fetch(address, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) }).catch((cause) => {
    throw new CommandError(`No hub answers at ${hub}.`, exitCodes.unavailable, { cause });
  });

async function post(
  issuer: string,
  path: string,
  members: Record<string, string>,
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ ...members, client_id: cliClient.clientId });
  const response = await send(new URL(path, issuer), issuer, { method: 'POST', body });
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return answer;
  const isOver = response.status === 400 || response.status === 401;
  const detail = String(answer.error_description ?? `The hub answered ${response.status}.`);
  throw new CommandError(
    isOver ? `${detail} Sign in again: datahub login --url ${issuer}` : detail,
    isOver ? exitCodes.rejectedKey : exitCodes.unavailable,
  );
}
