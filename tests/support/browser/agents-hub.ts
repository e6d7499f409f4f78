/** A hub with a provider, three hubs with tools, and a registered client, for tests of agents that connect by address. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { createAuthority } from '../../../tools/databases/certificates.ts';
import type { Api } from '../api.ts';
import { createSource } from '../hub.ts';
import { spawnHub } from '../spawned.ts';
import { challenge, consent, verifier } from './oauth-client.ts';
import { type Agent, createAgent, oidcSettings, startProvider } from './provider.ts';

export const loopback = 'http://127.0.0.1:41234/callback';

export type AgentsHub = Awaited<ReturnType<typeof startAgentsHub>>;

/** Ada is viewer of the first hub and editor of the second. */
export async function startAgentsHub() {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-oauth-'));
  const { ca, cert, key } = await (await createAuthority(dir))({ name: 'server' });
  let documentUrl = '';
  const server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (_, response) => {
    response.setHeader('content-type', 'application/json');
    const body = { client_id: documentUrl, client_name: 'Described', redirect_uris: [loopback] };
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  documentUrl = `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startProvider(origin);
  const hub = await spawnHub({
    ...{ PORT: String(port), ...oidcSettings(provider, origin) },
    ...{ NODE_EXTRA_CA_CERTS: ca, DATAHUB_OAUTH_REGISTRATION: '1' },
    DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '10000',
  });
  const { api } = hub;
  const { hubIds, registered } = await makeTools(api);
  provider.people.set('ada', { name: 'Ada Lovelace' });
  const signedIn = async (): Promise<Agent> => {
    provider.who = 'ada';
    const agent = createAgent();
    const { response } = await agent.visit(`${origin}/auth/login`);
    if (response.status !== 200) throw new Error(`Signing in answered ${response.status}.`);
    return agent;
  };
  const authorizeUrl = (change: Record<string, string | undefined> = {}) => {
    const url = new URL('/oauth/authorize', origin);
    const wanted = {
      ...{ response_type: 'code', client_id: registered.client_id, redirect_uri: loopback, state: 's' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', resource: `${origin}/mcp`, ...change },
    };
    for (const [name, value] of Object.entries(wanted))
      if (value !== undefined) url.searchParams.set(name, value);
    return url;
  };
  const ada = await signedIn();
  const codeOf = async (change?: Record<string, string>) =>
    (await consent(ada, authorizeUrl(change))).searchParams.get('code') as string;
  const requests = createRequests(origin, registered);
  const refusals = async (): Promise<number> => {
    const { personId } = (await hub.api.ok(hub.api.get('/v1/people')))[0];
    const entries = await hub.api.ok(hub.api.get(`/v1/audit?action=agent.refuse&personId=${personId}`));
    return entries.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
  };
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await hub.close();
    await provider.close();
    await rm(dir, { recursive: true, force: true });
  };
  return {
    ...{ hub, provider, origin, hubIds, registered, documentUrl, ada, close },
    ...{ signedIn, authorizeUrl, codeOf, refusals, ...requests },
  };
}

async function makeTools(api: Api) {
  const hubIds: string[] = [];
  for (const label of ['viewed', 'edited', 'closed']) {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label }));
    hubIds.push(hubId);
    const sourceId = await createSource(hubId, undefined, api);
    for (const [name, query] of [
      [`read_${label}`, 'SELECT 1 AS one'],
      [`write_${label}`, 'DELETE FROM pg_class WHERE false'],
    ]) {
      const command = query?.startsWith('SELECT') ? 'select' : 'delete';
      const tool = { name, description: 'A tool.' };
      await api.ok(api.post('/v1/queries', { hubId, sourceId, label: name, query, command, tool }));
    }
  }
  for (const [at, role] of ['viewer', 'editor'].entries())
    await api.ok(api.post('/v1/grants', { who: { subject: 'ada' }, role, hubIds: [hubIds[at]] }));
  const made = await api.ok(api.post('/v1/clients', { name: 'Chat', redirectUris: [loopback] }));
  const registered = { client_id: made.clientId, client_secret: made.clientSecret };
  return { hubIds, registered };
}

/** What programs ask of the hub, as the registered client. */
function createRequests(origin: string, registered: { client_id: string; client_secret: string }) {
  const post = async (path: string, body: Record<string, string>) => {
    const response = await fetch(`${origin}/oauth/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ ...registered, ...body }),
    });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const redeem = (code: string, change: Record<string, string> = {}) =>
    post('token', {
      ...{ grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier },
      ...change,
    });
  const refresh = (refresh_token: string, change: object = {}) =>
    post('token', { grant_type: 'refresh_token', refresh_token, ...change });
  const toolsOf = async (token: string) =>
    (
      await fetch(`${origin}/mcp`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
    ).status;
  return { post, redeem, refresh, toolsOf };
}
