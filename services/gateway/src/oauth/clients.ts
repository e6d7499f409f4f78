/** Finds clients: the built-in one, those of the catalog, and those that describe themselves at an address. */

import { cliClient, faultOfRedirectUri, redirectUriBounds } from '@datahub/contract/people/oauth';
import { isHttpsAddress } from '@datahub/contract/user-limit';
import { HubError } from '@datahub/service-kit/call/error';
import { LRUCache } from 'lru-cache';
import type { RequestContext } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';

export interface OAuthClient {
  clientId: string;
  name: string;
  redirectUris: readonly string[];
  /** The host of the document at which the client describes itself. */
  documentHost?: string;
}

export type FindClient = (clientId: string, context: RequestContext) => Promise<OAuthClient | undefined>;

const documentsMax = 500;
const documentMs = 600_000;
/** More than any program needs; each is read anew for each page. */
const redirectUrisMax = 100;
const nameLengthMax = 100;

export function createClients({ catalog, executor }: Pick<Upstreams, 'catalog' | 'executor'>): FindClient {
  const documents = new LRUCache<string, OAuthClient>({ max: documentsMax, ttl: documentMs });

  const findDescribed = async (url: string, context: RequestContext): Promise<OAuthClient | undefined> => {
    if (!isClientAddress(url)) return undefined;
    // The rules for addresses are those of the account.
    const name = JSON.stringify([context.principal?.accountId, url]);
    const known = documents.get(name);
    if (known !== undefined) return known;
    const { documentJson } = await executor.fetchClientDocument({ url }, context);
    const client = readDocument(url, JSON.parse(documentJson) as Record<string, unknown>);
    documents.set(name, client);
    return client;
  };

  return async (clientId, context) => {
    if (clientId === cliClient.clientId) return cliClient;
    if (clientId.includes(':')) return findDescribed(clientId, context);
    const { client } = await catalog.findClient({ clientId }, context);
    return client;
  };
}

/** An https address with a path, written as programs write it. */
function isClientAddress(text: string): boolean {
  const url = URL.parse(text);
  const isNormal = url !== null && url.href === text && text.length <= redirectUriBounds.length.max;
  return isNormal && isHttpsAddress(text, { query: true }) && url.pathname !== '/';
}

function readDocument(url: string, document: Record<string, unknown>): OAuthClient {
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method = 'none' } = document;
  if (client_id !== url) throw unusable('its client_id is not its address');
  if (token_endpoint_auth_method !== 'none')
    throw unusable('it authenticates by a method that the hub does not have');
  const uris = Array.isArray(redirect_uris) ? redirect_uris : [];
  if (uris.length > redirectUrisMax) throw unusable(`it names more than ${redirectUrisMax} addresses`);
  const redirectUris = uris.filter(
    (uri): uri is string => typeof uri === 'string' && faultOfRedirectUri(uri) === undefined,
  );
  const documentHost = new URL(url).host;
  const name = typeof client_name === 'string' && client_name.trim() !== '' ? client_name : documentHost;
  return { clientId: url, name: shorten(name), redirectUris, documentHost };
}

export const shorten = (name: string): string =>
  [...name.toWellFormed().replaceAll(/\p{C}+/gu, ' ')].slice(0, nameLengthMax).join('');

const unusable = (reason: string) =>
  new HubError('VALIDATION', `The description of the client cannot be used: ${reason}.`);
