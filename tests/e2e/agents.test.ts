import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../tools/databases/certificates.ts';
import { findCommand } from '../../tools/databases/process.ts';
import {
  type ClientOptions,
  consent,
  createOAuthClient,
  fieldsOf,
  sendForm,
} from '../support/browser/oauth-client.ts';
import {
  type Agent,
  createAgent,
  oidcSettings,
  startProvider,
  type TestProvider,
} from '../support/browser/provider.ts';
import { createSource } from '../support/hub.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const loopback = 'http://127.0.0.1:41234/callback';
const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');

describe.skipIf(findCommand('openssl') === undefined)('agents that connect by address (needs openssl)', () => {
  let dir: string;
  let provider: TestProvider;
  let server: Server;
  let documentUrl: string;
  let hub: SpawnedHub;
  let origin: string;
  let hubIds: string[];
  let ada: Agent;
  let registered: { client_id: string; client_secret: string };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-oauth-'));
    const { ca, cert, key } = await (await createAuthority(dir))({ name: 'server' });
    server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (_, response) => {
      response.setHeader('content-type', 'application/json');
      const body = { client_id: documentUrl, client_name: 'Described', redirect_uris: [loopback] };
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    documentUrl = `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    provider = await startProvider(origin);
    hub = await spawnHub({
      ...{ PORT: String(port), ...oidcSettings(provider, origin) },
      ...{ NODE_EXTRA_CA_CERTS: ca, DATAHUB_OAUTH_REGISTRATION: '1' },
    });
    const { api } = hub;
    hubIds = [];
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
    provider.people.set('ada', { name: 'Ada Lovelace' });
    ada = await signedIn();
    const made = await api.ok(api.post('/v1/clients', { name: 'Chat', redirectUris: [loopback] }));
    registered = { client_id: made.clientId, client_secret: made.clientSecret };
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await hub?.close();
    await provider?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const signedIn = async (): Promise<Agent> => {
    provider.who = 'ada';
    const agent = createAgent();
    expect((await agent.visit(`${origin}/auth/login`)).response.status).toBe(200);
    return agent;
  };
  const open = (client: ReturnType<typeof createOAuthClient>) =>
    new StreamableHTTPClientTransport(new URL('/mcp', origin), { authProvider: client });
  const connect = async (options: ClientOptions, change?: (fields: URLSearchParams) => void) => {
    const oauth = createOAuthClient(options);
    const before = open(oauth);
    await expect(new Client({ name: 'test', version: '1' }).connect(before)).rejects.toThrow();
    const led = await consent(ada, oauth.sentTo(), change);
    expect([led.searchParams.get('state'), led.searchParams.get('iss')]).toEqual(['the-state', origin]);
    await before.finishAuth(led.searchParams);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(open(oauth));
    return { client, oauth, led };
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
  const codeOf = async (change?: Record<string, string>) =>
    (await consent(ada, authorizeUrl(change))).searchParams.get('code') as string;
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
  const refresh = (refresh_token: string) => post('token', { grant_type: 'refresh_token', refresh_token });
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
  const refusals = async (): Promise<number> => {
    const { personId } = (await hub.api.ok(hub.api.get('/v1/people')))[0];
    const entries = await hub.api.ok(hub.api.get(`/v1/audit?action=agent.refuse&personId=${personId}`));
    return entries.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
  };

  describe('the official client', () => {
    it.each([
      ['that describes itself at an address', () => ({ redirectUrl: loopback, metadataUrl: documentUrl })],
      ['that registers itself', () => ({ redirectUrl: 'http://localhost:9/cb' })],
      ['that an admin registered, at another port', () => ({ redirectUrl: loopback.replace('41234', '1'), registered })],
    ])('%s connects by the address alone and calls a tool', async (_, options) => {
      const { client } = await connect(options());
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual(['read_edited', 'read_viewed', 'summarize']);
      const result = await client.callTool({ name: 'read_viewed', arguments: {} });
      expect(result.structuredContent).toEqual({ data: [{ one: 1 }] });
      await client.close();
    });

    it('gets what the person chooses and has: tools that write, in the hubs of the role', async () => {
      const { client, oauth } = await connect({ redirectUrl: loopback, registered }, (fields) => {
        fields.append('scope_granted', 'queries:execute:write');
        fields.delete('scope_granted', 'ai:summarize');
      });
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual(['read_edited', 'read_viewed', 'write_edited']);
      const write = await client.callTool({ name: 'write_edited', arguments: {} });
      expect(write.isError).not.toBe(true);
      const refused = await client.callTool({ name: 'write_viewed', arguments: {} });
      expect(refused.isError).toBe(true);
      const executed = await hub.api.ok(hub.api.get('/v1/audit?action=agent.connect'));
      expect(executed[0]).toMatchObject({ person: { name: 'Ada Lovelace' } });
      const before = oauth.refreshToken();
      expect((await refresh(before)).status).toBe(200);
      await client.close();
    });
  });

  it('names the host first, escapes names, offers writing apart and off, and cannot be framed', async () => {
    const page = await ada.send(authorizeUrl().href);
    const html = await page.text();
    expect(html).toContain('<h1>Let 127.0.0.1 use this hub?</h1>');
    expect(html.indexOf('read_viewed')).toBeGreaterThan(0);
    expect(html).not.toContain('write_viewed');
    expect(html).not.toContain('closed');
    expect(fieldsOf(html).getAll('scope_granted')).toEqual(['ai:summarize']);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:41234;");
    const { client_id } = await (
      await fetch(`${origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: '<b>x</b>', redirect_uris: ['https://evil.example/cb'] }),
      })
    ).json();
    const other = authorizeUrl({ client_id, redirect_uri: 'https://evil.example/cb' });
    const shown = await (await ada.send(other.href)).text();
    expect(shown).toContain('<h1>Let evil.example use this hub?</h1>');
    expect(shown).toContain('&#60;b&#62;x');
  });

  it('refuses a request that is not the client’s, and notes it', async () => {
    const before = await refusals();
    const wrong: Record<string, string | undefined>[] = [
      { redirect_uri: 'https://evil.example/callback' },
      { redirect_uri: loopback.replace('callback', 'other') },
      { redirect_uri: `${loopback}?x=1` },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
      { code_challenge: undefined },
      { resource: 'https://other.example/mcp' },
      { resource: `${origin}/v1` },
      { response_type: 'token' },
      { client_id: 'dh.clnt.00000000000000000000000000000a' },
      { client_id: 'https://127.0.0.1/' },
      { client_id: `http://127.0.0.1/client.json` },
    ];
    for (const change of wrong) {
      const response = await ada.send(authorizeUrl(change).href);
      expect([response.status, response.headers.get('location')], JSON.stringify(change)).toEqual([400, null]);
    }
    expect(await refusals()).toBe(before + wrong.length);
  });

  it('ends what a code gave if it is used again', async () => {
    const before = await refusals();
    const code = await codeOf();
    const first = await redeem(code);
    expect(first.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600 });
    expect(await toolsOf(first.body.access_token)).toBe(200);
    expect(await redeem(code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    await expect.poll(() => toolsOf(first.body.access_token)).toBe(401);
    expect((await refresh(first.body.refresh_token)).status).toBe(400);
    expect(await refusals()).toBe(before + 1);
  });

  it('accepts a code with its verifier, address, resource and client alone, once', async () => {
    const before = await refusals();
    for (const [change, error] of [
      [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
      [{ code_verifier: challenge }, 'invalid_grant'],
      [{ redirect_uri: 'https://evil.example' }, 'invalid_grant'],
      [{ resource: `${origin}/v1` }, 'invalid_target'],
      [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
      [{ client_secret: 'x' }, 'invalid_client'],
      [{ client_id: 'datahub-cli', client_secret: '' }, 'invalid_client'],
    ] as const) {
      const code = await codeOf();
      expect((await redeem(code, change)).body.error, JSON.stringify(change)).toBe(error);
      if (error !== 'invalid_client') expect((await redeem(code)).body.error).toBe('invalid_grant');
    }
    expect(await refusals()).toBe(before + 7);
  });

  it('changes refresh tokens, and ends the agent if one is used again', async () => {
    const before = await refusals();
    const first = (await redeem(await codeOf())).body;
    const second = (await refresh(first.refresh_token)).body;
    await expect.poll(() => toolsOf(first.access_token)).toBe(401);
    expect(await toolsOf(second.access_token)).toBe(200);
    expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(second.refresh_token)).body.error).toBe('invalid_grant');
    await expect.poll(() => toolsOf(second.access_token)).toBe(401);
    expect(await refusals()).toBe(before + 1);
  });

  it('accepts tokens at /mcp alone, and says there where to get one', async () => {
    const { access_token: token } = (await redeem(await codeOf())).body;
    for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-service-api-key': token }]) {
      const response = await fetch(`${origin}/v1/hubs`, { headers });
      expect(response.status).toBe(401);
    }
    const asKey = { 'x-service-api-key': token, 'content-type': 'application/json' };
    expect((await fetch(`${origin}/mcp`, { method: 'POST', headers: asKey, body: '{}' })).status).toBe(401);
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    const address = `${origin}/.well-known/oauth-protected-resource/mcp`;
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${address}"`,
    ]);
    expect(await (await fetch(address)).json()).toMatchObject({
      resource: `${origin}/mcp`,
      authorization_servers: [origin],
    });
    expect(await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()).toMatchObject({
      issuer: origin,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    expect((await post('revoke', { token })).status).toBe(200);
  });

  it('takes a form of its own page only, for the session and the request that it showed', async () => {
    const html = await (await ada.send(authorizeUrl().href)).text();
    const fields = fieldsOf(html);
    fields.set('decision', 'allow');
    const send = async (headers: Record<string, string>, body = fields, agent = ada) => {
      const init = { method: 'POST', body, headers };
      const response = await agent.send(`${origin}/oauth/authorize`, init);
      return [response.status, response.headers.get('location')];
    };
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin, 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ])
      expect(await send(headers as never), JSON.stringify(headers)).toEqual([403, null]);
    const changed = new URLSearchParams(fields);
    changed.set('state', 'another');
    expect(await send({ origin }, changed)).toEqual([403, null]);
    expect(await send({ origin }, fields, await signedIn())).toEqual([403, null]);
    expect((await send({ origin }))[0]).toBe(303);
  });

  it('signs in with a key, which the agent can do no more than, and ends with it', async () => {
    const body = { name: 'k', scopes: ['queries:execute'], limits: { hubIds: [hubIds[2]] } };
    const { key, keyId } = await hub.api.ok(hub.api.post('/v1/keys', body));
    const nobody = createAgent();
    const page = await nobody.send(authorizeUrl().href);
    const form = fieldsOf(await page.text());
    form.set('key', `${key.slice(0, -1)}x`);
    expect((await sendForm(nobody, origin, form)).status).toBe(401);
    form.set('key', key);
    const fields = fieldsOf(await (await sendForm(nobody, origin, form)).text());
    expect(fields.getAll('hub')).toEqual([hubIds[2]]);
    expect(fields.getAll('scope_granted')).toEqual([]);
    fields.set('decision', 'allow');
    fields.append('scope_granted', 'queries:execute:write');
    const led = new URL((await sendForm(nobody, origin, fields)).headers.get('location') as string);
    const tokens = (await redeem(led.searchParams.get('code') as string)).body;
    expect(await toolsOf(tokens.access_token)).toBe(200);
    expect(await hub.api.ok(hub.api.get('/v1/agents', { key }))).toMatchObject([{ keyId, person: null }]);
    await hub.api.ok(hub.api.delete(`/v1/keys/${keyId}`));
    await expect.poll(() => toolsOf(tokens.access_token)).toBe(401);
    expect((await refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('lists agents to their person and to admins, who can disconnect them, and a client with its agents', async () => {
    const own = { key: null, headers: { cookie: ada.cookies(origin), 'sec-fetch-site': 'same-origin' } };
    const tokens = (await redeem(await codeOf())).body;
    const [{ agentId, client }] = (await hub.api.ok(hub.api.get('/v1/agents', own))).toReversed();
    expect(client).toEqual({ clientId: registered.client_id, name: 'Chat', host: '127.0.0.1' });
    const { key } = await hub.api.ok(hub.api.post('/v1/keys', { name: 'k', scopes: ['keys:admin'] }));
    expect(await hub.api.ok(hub.api.get('/v1/agents', { key }))).toEqual([]);
    expect((await hub.api.delete(`/v1/agents/${agentId}`, { key })).status).toBe(404);
    expect((await hub.api.delete(`/v1/agents/${agentId}`, own)).status).toBe(200);
    await expect.poll(() => toolsOf(tokens.access_token)).toBe(401);
    expect((await hub.api.ok(hub.api.get('/v1/agents'))).length).toBeGreaterThan(0);
    const last = (await redeem(await codeOf())).body;
    await hub.api.ok(hub.api.delete(`/v1/clients/${registered.client_id}`));
    await expect.poll(() => toolsOf(last.access_token)).toBe(401);
    expect((await refresh(last.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('ends with the person', async () => {
    const { client } = await connect({ redirectUrl: 'http://localhost:9/cb' });
    const [{ personId }] = await hub.api.ok(hub.api.get('/v1/people'));
    await hub.api.ok(hub.api.put(`/v1/people/${personId}`, { disabled: true }));
    await expect.poll(() => client.listTools().then(String, () => 'out')).toBe('out');
    await hub.api.ok(hub.api.delete(`/v1/people/${personId}`));
    expect(await hub.api.ok(hub.api.get('/v1/agents'))).toEqual([]);
  });

  it('lets at most 60 clients register in an hour', async () => {
    const register = async () => {
      const body = JSON.stringify({ redirect_uris: [loopback] });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${origin}/oauth/register`, { method: 'POST', headers, body })).status;
    };
    const statuses: number[] = [];
    for (let i = 0; i < 62; i++) statuses.push(await register());
    expect(statuses[0]).toBe(201);
    expect(statuses.at(-1)).toBe(429);
    const bad = JSON.stringify({ redirect_uris: ['javascript:alert(1)'] });
    const headers = { 'content-type': 'application/json' };
    const refused = await fetch(`${origin}/oauth/register`, { method: 'POST', headers, body: bad });
    expect([refused.status, (await refused.json()).error]).toEqual([400, 'invalid_redirect_uri']);
  });
});
