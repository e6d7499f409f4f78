/** Agents: how they begin, act and end. */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { narrow } from '@datahub/contract/roles';
import type { Filter } from '@datahub/document-store';
import type { AuthenticateResponse } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createAgentToken, hashApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import { requireValid } from '../key.ts';
import { findKey, principalOf } from '../people/acting.ts';
import type { AgentDoc } from './documents.ts';

const codeMs = 60_000;
const accessMs = 3_600_000;
/** An agent that is not used ends after this time. */
const idleMs = 30 * 86_400_000;
/** The resolution of `lastUsedAt`, so that not every use writes. */
const usedStepMs = 60_000;
/** Of one key or person; the oldest end first. */
const agentsMax = 50;
const batchSize = 100;

/** Secrets have as much entropy as keys, so they have the same digest. */
export function isDigestOf(digest: string, text: string): boolean {
  return timingSafeEqual(Buffer.from(digest, 'hex'), Buffer.from(hashApiKey(text), 'hex'));
}

const createSecret = (): string => randomBytes(32).toString('base64url');
const tokenFormat = /^dh[cr]\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

type Consent = Omit<
  AgentDoc,
  | 'version'
  | 'handle'
  | 'accessHash'
  | 'accessUntil'
  | 'secretHash'
  | 'createdAt'
  | 'lastUsedAt'
  | 'expiresAt'
>;

/** The agent, and its code, which is kept nowhere. */
export function makeAgent(consent: Consent, nowMs: number): { doc: AgentDoc; code: string } {
  const [handle, secret] = [createSecret(), createSecret()];
  const doc: AgentDoc = {
    ...consent,
    version: 1,
    handle: hashApiKey(handle),
    accessHash: hashApiKey(createSecret()),
    accessUntil: nowMs,
    secretHash: hashApiKey(secret),
    createdAt: nowMs,
    lastUsedAt: nowMs,
    expiresAt: nowMs + codeMs,
  };
  return { doc, code: `dhc.${handle}.${secret}` };
}

/** The agent that a code or refresh token names, and the secret of the token. */
export async function findByToken(
  { store }: Catalog,
  token: string,
): Promise<{ agent: AgentDoc; handle: string; secret: string } | undefined> {
  const [, handle, secret] = tokenFormat.exec(token) ?? [];
  if (handle === undefined || secret === undefined) return undefined;
  const agent = await store.agents.getUnique('handle', hashApiKey(handle));
  return agent === null ? undefined : { agent, handle, secret };
}

/** The agent that a code or a token of either kind belongs to. */
export async function findByAnyToken(catalog: Catalog, token: string): Promise<AgentDoc | undefined> {
  const found = await findByToken(catalog, token);
  return found?.agent ?? (await catalog.store.agents.getUnique('accessHash', hashApiKey(token))) ?? undefined;
}

export interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresInS: number;
}

/** The agent with new tokens, which replace the ones before. */
export function withTokens(
  { code: _, ...agent }: AgentDoc,
  { handle, nowMs }: { handle: string; nowMs: number },
): { doc: AgentDoc; tokens: Tokens } {
  const secret = createSecret();
  const accessToken = createAgentToken(agent.audience);
  const doc: AgentDoc = {
    ...agent,
    version: agent.version + 1,
    accessHash: hashApiKey(accessToken),
    accessUntil: nowMs + accessMs,
    secretHash: hashApiKey(secret),
    lastUsedAt: nowMs,
    expiresAt: nowMs + idleMs,
  };
  return {
    doc,
    tokens: { accessToken, refreshToken: `dhr.${handle}.${secret}`, expiresInS: accessMs / 1_000 },
  };
}

/**
 * What the agent may do now: what its key or person and the consent both allow. Throws KEY_INVALID or KEY_EXPIRED if that
 * is nothing.
 */
export async function principalOfAgent(catalog: Catalog, agent: AgentDoc): Promise<Principal> {
  const { accountId, keyId, scopes, hubIds } = agent;
  const key = await findKey(catalog, { accountId, keyId });
  requireValid(key, catalog.nowMs());
  const shared = narrow(key, { scopes, hubIds });
  if (shared === undefined || shared.scopes.length === 0)
    throw new HubError('KEY_INVALID', 'The key for which this agent acts may do nothing of it any more.');
  return principalOf(catalog, { ...key, ...shared });
}

/** Undefined if no agent has a token with the hash. Throws KEY_EXPIRED, and KEY_INVALID for a key or person who is out. */
export async function authenticateAgent(
  catalog: Catalog,
  hash: string,
): Promise<AuthenticateResponse | undefined> {
  const agent = await catalog.store.agents.getUnique('accessHash', hash);
  if (agent === null) return undefined;
  const nowMs = catalog.nowMs();
  if (agent.accessUntil <= nowMs) throw new HubError('KEY_EXPIRED', 'This token has expired.');
  const principal = await principalOfAgent(catalog, agent);
  if (nowMs - agent.lastUsedAt >= usedStepMs) {
    // Without a retry, because a concurrent call writes the same.
    const used = { ...agent, lastUsedAt: nowMs, version: agent.version + 1 };
    await catalog.store.agents.replace(used).catch(() => false);
  }
  return { principal, expiresAt: new Date(agent.accessUntil) };
}

/** Ends all agents of the filter. */
export async function endAgents({ store }: Catalog, filter: Filter): Promise<void> {
  while ((await store.agents.deleteMany({ ...filter, limit: batchSize })) === batchSize);
}

/** Ends the oldest agents beyond the most that a key or person can have. */
export async function endOldestAgents(
  { store }: Catalog,
  { accountId, keyId }: Pick<AgentDoc, 'accountId' | 'keyId'>,
): Promise<void> {
  const agents = await store.agents.find({ accountId, where: { keyId }, limit: 2 * agentsMax });
  const oldest = agents.slice(0, -agentsMax);
  await Promise.all(oldest.map(({ id }) => store.agents.delete(accountId, id)));
}
