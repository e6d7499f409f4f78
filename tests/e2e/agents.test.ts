import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeRoutes } from '../../services/gateway/src/routes.ts';
import { findCommand } from '../../tools/databases/process.ts';
import { type AgentsHub, loopback, startAgentsHub } from '../support/browser/agents-hub.ts';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import {
  type ClientOptions,
  challenge,
  connectByAddress,
  fieldsOf,
  sendForm,
} from '../support/browser/oauth-client.ts';
import { createAgent } from '../support/browser/provider.ts';

describe.skipIf(findCommand('openssl') === undefined)(
  'agents that connect by address (needs openssl)',
  () => {
    let on: AgentsHub;
    beforeAll(async () => {
      on = await startAgentsHub();
    });
    afterAll(() => on?.close());

    const connect = async (options: ClientOptions, change?: (fields: URLSearchParams) => void) => {
      const connected = await connectByAddress({ person: on.ada, origin: on.origin }, options, change);
      const { searchParams } = connected.led;
      expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['the-state', on.origin]);
      return connected;
    };
    describe('the official client', () => {
      it.each([
        [
          'that describes itself at an address',
          () => ({ redirectUrl: loopback, metadataUrl: on.documentUrl }),
        ],
        ['that registers itself', () => ({ redirectUrl: 'http://localhost:9/cb' })],
        [
          'that an admin on.registered, at another port',
          () => ({ redirectUrl: loopback.replace('41234', '1'), registered: on.registered }),
        ],
      ])('%s connects by the address alone and calls a tool', async (_, options) => {
        const { client } = await connect(options());
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name).sort()).toEqual(['read_edited', 'read_viewed', 'summarize']);
        const result = await client.callTool({ name: 'read_viewed', arguments: {} });
        expect(result.structuredContent).toEqual({ data: [{ one: 1 }] });
        await client.close();
      });

      it('gets what the person chooses and has: tools that write, in the hubs of the role', async () => {
        const { client, oauth } = await connect(
          { redirectUrl: loopback, registered: on.registered },
          (fields) => {
            fields.append('scope_granted', 'queries:execute:write');
            fields.delete('scope_granted', 'ai:summarize');
          },
        );
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name).sort()).toEqual(['read_edited', 'read_viewed', 'write_edited']);
        const write = await client.callTool({ name: 'write_edited', arguments: {} });
        expect(write.isError).not.toBe(true);
        const refused = await client.callTool({ name: 'write_viewed', arguments: {} });
        expect(refused.isError).toBe(true);
        const executed = await on.hub.api.ok(on.hub.api.get('/v1/audit?action=agent.connect'));
        expect(executed[0]).toMatchObject({ person: { name: 'Ada Lovelace' } });
        const before = oauth.refreshToken();
        expect((await on.refresh(before)).status).toBe(200);
        await client.close();
      });
    });

    it('names the host first, escapes names, offers writing apart and off, and cannot be framed', async () => {
      const page = await on.ada.send(on.authorizeUrl().href);
      const html = await page.text();
      expect(html).toContain('<h1>Let 127.0.0.1 use this hub?</h1>');
      expect(html.indexOf('read_viewed')).toBeGreaterThan(0);
      expect(html).not.toContain('write_viewed');
      expect(html).not.toContain('closed');
      expect(fieldsOf(html).getAll('scope_granted')).toEqual(['ai:summarize']);
      const policy = page.headers.get('content-security-policy');
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self' http://127.0.0.1:41234;");
      const { client_id } = (await (
        await fetch(`${on.origin}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ client_name: '<b>x</b>', redirect_uris: ['https://evil.example/cb'] }),
        })
      ).json()) as { client_id: string };
      const other = on.authorizeUrl({ client_id, redirect_uri: 'https://evil.example/cb' });
      const shown = await (await on.ada.send(other.href)).text();
      expect(shown).toContain('<h1>Let evil.example use this hub?</h1>');
      expect(shown).toContain('&#60;b&#62;x');
    });

    it('refuses a request that is not the client’s, and notes it', async () => {
      const before = await on.refusals();
      const wrong: Record<string, string | undefined>[] = [
        { redirect_uri: 'https://evil.example/callback' },
        { redirect_uri: loopback.replace('callback', 'other') },
        { redirect_uri: `${loopback}?x=1` },
        { code_challenge_method: 'plain' },
        { code_challenge_method: undefined },
        { code_challenge: undefined },
        { resource: 'https://other.example/mcp' },
        { resource: `${on.origin}/v1` },
        { response_type: 'token' },
        { client_id: 'dh.clnt.00000000000000000000000000000a' },
        { client_id: 'https://127.0.0.1/' },
        { client_id: `http://127.0.0.1/client.json` },
      ];
      for (const change of wrong) {
        const response = await on.ada.send(on.authorizeUrl(change).href);
        expect([response.status, response.headers.get('location')], JSON.stringify(change)).toEqual([
          400,
          null,
        ]);
      }
      expect(await on.refusals()).toBe(before + wrong.length);
    });

    it('ends what a code gave if it is used again', async () => {
      const before = await on.refusals();
      const code = await on.codeOf();
      const first = await on.redeem(code);
      expect(first.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600 });
      expect(await on.toolsOf(first.body.access_token)).toBe(200);
      expect(await on.redeem(code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      await expect.poll(() => on.toolsOf(first.body.access_token)).toBe(401);
      expect((await on.refresh(first.body.refresh_token)).status).toBe(400);
      expect(await on.refusals()).toBe(before + 1);
    });

    it('accepts a code with its verifier, address, resource and client alone, once', async () => {
      const before = await on.refusals();
      for (const [change, error] of [
        [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
        [{ code_verifier: challenge }, 'invalid_grant'],
        [{ redirect_uri: 'https://evil.example' }, 'invalid_grant'],
        [{ resource: `${on.origin}/v1` }, 'invalid_target'],
        [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
        [{ client_secret: 'x' }, 'invalid_client'],
        [{ client_id: 'datahub-cli', client_secret: '' }, 'invalid_client'],
      ] as const) {
        const code = await on.codeOf();
        expect((await on.redeem(code, change)).body.error, JSON.stringify(change)).toBe(error);
        if (error === 'invalid_grant') expect((await on.redeem(code)).body.error).toBe('invalid_grant');
        else expect((await on.redeem(code)).status).toBe(200);
      }
      expect(await on.refusals()).toBe(before + 7);
    });

    it('changes refresh tokens, and ends the agent if one is used again', async () => {
      const before = await on.refusals();
      const first = (await on.redeem(await on.codeOf())).body;
      const second = (await on.refresh(first.refresh_token)).body;
      await expect.poll(() => on.toolsOf(first.access_token)).toBe(401);
      expect(await on.toolsOf(second.access_token)).toBe(200);
      expect((await on.refresh(first.refresh_token)).body.error).toBe('invalid_grant');
      expect((await on.refresh(second.refresh_token)).body.error).toBe('invalid_grant');
      await expect.poll(() => on.toolsOf(second.access_token)).toBe(401);
      expect(await on.refusals()).toBe(before + 1);
    });

    it('keeps a refresh token that was sent with another resource', async () => {
      const { refresh_token: token } = (await on.redeem(await on.codeOf())).body;
      const wrong = await on.refresh(token, { resource: 'https://other.example/mcp' });
      expect(wrong).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
      expect((await on.refresh(token)).status).toBe(200);
    });

    it('accepts tokens at /mcp alone, and says there where to get one', async () => {
      const { access_token: token } = (await on.redeem(await on.codeOf())).body;
      for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-service-api-key': token }]) {
        const response = await fetch(`${on.origin}/v1/hubs`, { headers });
        expect(response.status).toBe(401);
      }
      const asKey = { 'x-service-api-key': token, 'content-type': 'application/json' };
      expect((await fetch(`${on.origin}/mcp`, { method: 'POST', headers: asKey, body: '{}' })).status).toBe(
        401,
      );
      const response = await fetch(`${on.origin}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const address = `${on.origin}/.well-known/oauth-protected-resource/mcp`;
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer resource_metadata="${address}"`,
      ]);
      expect(await (await fetch(address)).json()).toMatchObject({
        resource: `${on.origin}/mcp`,
        authorization_servers: [on.origin],
      });
      expect(await (await fetch(`${on.origin}/.well-known/oauth-authorization-server`)).json()).toMatchObject(
        {
          issuer: on.origin,
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        },
      );
    });

    it.each(['access_token', 'refresh_token'] as const)('ends with its %s', async (kind) => {
      const tokens = (await on.redeem(await on.codeOf())).body;
      const other = await on.post('revoke', { token: tokens[kind], client_id: on.documentUrl });
      expect([other.status, other.body.error]).toEqual([401, 'invalid_client']);
      expect(await on.toolsOf(tokens.access_token)).toBe(200);
      for (let i = 0; i < 2; i++) expect((await on.post('revoke', { token: tokens[kind] })).status).toBe(200);
      await expect.poll(() => on.toolsOf(tokens.access_token)).toBe(401);
      expect((await on.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    });

    it('says that a key is not revoked there', async () => {
      const { key } = await on.hub.api.ok(on.hub.api.post('/v1/keys', { name: 'k', scopes: ['hubs:read'] }));
      expect(await on.post('revoke', { token: key })).toMatchObject({
        status: 400,
        body: { error: 'unsupported_token_type' },
      });
    });

    it('refuses tokens on every route of the API', async () => {
      const { access_token: token } = (await on.redeem(await on.codeOf())).body;
      for (const { method, path } of describeRoutes())
        for (const [name, value] of [
          ['x-service-api-key', token],
          ['authorization', `Bearer ${token}`],
        ] as const) {
          const headers = { [name]: value };
          const asked = path.replaceAll(/:\w+|\*/g, on.hubIds[0] as string);
          const answer = await on.hub.api.call(method, asked, { key: null, headers });
          expect(answer.status, `${method} ${path}`).toBe(401);
        }
      expect(await on.toolsOf(token)).toBe(200);
    });

    it('takes a form of its own page only, for the session and the request that it showed', async () => {
      const html = await (await on.ada.send(on.authorizeUrl().href)).text();
      const fields = fieldsOf(html);
      fields.set('decision', 'allow');
      const send = async (headers: Record<string, string>, body = fields, agent = on.ada) => {
        const init = { method: 'POST', body, headers };
        const response = await agent.send(`${on.origin}/oauth/authorize`, init);
        return [response.status, response.headers.get('location')];
      };
      for (const headers of [
        {},
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
        { origin: on.origin, 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      ])
        expect(await send(headers as never), JSON.stringify(headers)).toEqual([403, null]);
      const changed = new URLSearchParams(fields);
      changed.set('state', 'another');
      expect(await send({ origin: on.origin }, changed)).toEqual([403, null]);
      expect(await send({ origin: on.origin }, fields, await on.signedIn())).toEqual([403, null]);
      expect((await send({ origin: on.origin }))[0]).toBe(303);
    });

    it('signs in with a key, which the agent can do no more than, and ends with it', async () => {
      const body = { name: 'k', scopes: ['queries:execute'], limits: { hubIds: [on.hubIds[2]] } };
      const { key, keyId } = await on.hub.api.ok(on.hub.api.post('/v1/keys', body));
      const nobody = createAgent();
      const page = await nobody.send(on.authorizeUrl().href);
      const form = fieldsOf(await page.text());
      form.set('key', `${key.slice(0, -1)}x`);
      expect((await sendForm(nobody, on.origin, form)).status).toBe(401);
      form.set('key', key);
      const fields = fieldsOf(await (await sendForm(nobody, on.origin, form)).text());
      expect(fields.getAll('hub')).toEqual([on.hubIds[2]]);
      expect(fields.getAll('scope_granted')).toEqual([]);
      fields.set('decision', 'allow');
      fields.append('scope_granted', 'queries:execute:write');
      const led = new URL((await sendForm(nobody, on.origin, fields)).headers.get('location') as string);
      const tokens = (await on.redeem(led.searchParams.get('code') as string)).body;
      expect(await on.toolsOf(tokens.access_token)).toBe(200);
      expect(await on.hub.api.ok(on.hub.api.get('/v1/agents', { key }))).toMatchObject([
        { keyId, person: null },
      ]);
      await on.hub.api.ok(on.hub.api.delete(`/v1/keys/${keyId}`));
      await expect.poll(() => on.toolsOf(tokens.access_token)).toBe(401);
      expect((await on.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    });

    it.skipIf(executablePath === undefined)(
      'asks a person in a browser, and shows the agent in the console (needs Chromium)',
      async () => {
        const context = await (await sharedBrowser()).newContext();
        const page = await context.newPage();
        await page.route('http://127.0.0.1:41234/**', (route) => route.fulfill({ body: 'connected' }));
        on.provider.who = 'ada';
        await page.goto(on.authorizeUrl().href);
        await page.getByRole('link', { name: /^Sign in with 127/ }).click();
        await page.getByRole('heading', { name: 'Let 127.0.0.1 use this hub?' }).waitFor();
        const writes = page.getByRole('checkbox', { name: /Also let it change data.*write_edited/ });
        expect(await writes.isChecked()).toBe(false);
        await page.getByRole('checkbox', { name: /viewed/ }).uncheck();
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.waitForURL(/^http:\/\/127\.0\.0\.1:41234\/callback\?code=/);
        const tokens = (await on.redeem(new URL(page.url()).searchParams.get('code') as string)).body;
        await page.goto(`${on.origin}/#/hub/${on.hubIds[1]}/agents`);
        const rows = page.getByRole('row', { name: /127\.0\.0\.1.*Ada Lovelace.*read, summarize.*edited/ });
        await rows.last().getByRole('button').click();
        await expect.poll(() => on.toolsOf(tokens.access_token)).toBe(401);
        await context.close();
      },
    );

    it('lists agents to their person and to admins, who can disconnect them, and a client with its agents', async () => {
      const own = {
        key: null,
        headers: { cookie: on.ada.cookies(on.origin), 'sec-fetch-site': 'same-origin' },
      };
      const tokens = (await on.redeem(await on.codeOf())).body;
      const [{ agentId, client }] = (await on.hub.api.ok(on.hub.api.get('/v1/agents', own))).toReversed();
      expect(client).toEqual({ clientId: on.registered.client_id, name: 'Chat', host: '127.0.0.1' });
      const { key } = await on.hub.api.ok(on.hub.api.post('/v1/keys', { name: 'k', scopes: ['keys:admin'] }));
      expect(await on.hub.api.ok(on.hub.api.get('/v1/agents', { key }))).toEqual([]);
      expect((await on.hub.api.delete(`/v1/agents/${agentId}`, { key })).status).toBe(404);
      expect((await on.hub.api.delete(`/v1/agents/${agentId}`, own)).status).toBe(200);
      await expect.poll(() => on.toolsOf(tokens.access_token)).toBe(401);
      expect((await on.hub.api.ok(on.hub.api.get('/v1/agents'))).length).toBeGreaterThan(0);
      const last = (await on.redeem(await on.codeOf())).body;
      await on.hub.api.ok(on.hub.api.delete(`/v1/clients/${on.registered.client_id}`));
      await expect.poll(() => on.toolsOf(last.access_token)).toBe(401);
      expect((await on.refresh(last.refresh_token)).body.error).toBe('invalid_grant');
    });

    it('stays while the person signs out everywhere, unless the person ends agents, too', async () => {
      const { client } = await connect({ redirectUrl: 'http://localhost:9/cb' });
      const statusOf = async () =>
        (await on.ada.send(`${on.origin}/v1/hubs`, { headers: { 'sec-fetch-site': 'same-origin' } })).status;
      const signOut = async (search: string) => {
        const response = await on.ada.send(`${on.origin}/v1/people/current/sessions${search}`, {
          method: 'DELETE',
          headers: { 'sec-fetch-site': 'same-origin' },
        });
        await expect.poll(statusOf).toBe(401);
        await on.ada.visit(`${on.origin}/auth/login`);
        return (await response.json()) as { agentCount: number };
      };
      on.provider.who = 'ada';
      expect((await signOut('')).agentCount).toBe(0);
      expect((await client.listTools()).tools).not.toEqual([]);
      expect((await signOut('?agents=true')).agentCount).toBeGreaterThan(0);
      await expect.poll(() => client.listTools().then(String, () => 'out')).toBe('out');
      const [entry] = await on.hub.api.ok(on.hub.api.get('/v1/audit?action=agent.disconnect'));
      expect(entry.person).toMatchObject({ name: 'Ada Lovelace' });
    });

    it('ends with the person', async () => {
      const { client } = await connect({ redirectUrl: 'http://localhost:9/cb' });
      const [{ personId }] = await on.hub.api.ok(on.hub.api.get('/v1/people'));
      await on.hub.api.ok(on.hub.api.put(`/v1/people/${personId}`, { disabled: true }));
      await expect.poll(() => client.listTools().then(String, () => 'out')).toBe('out');
      await on.hub.api.ok(on.hub.api.delete(`/v1/people/${personId}`));
      expect(await on.hub.api.ok(on.hub.api.get('/v1/agents'))).toEqual([]);
    });

    it('lets at most 10 clients of a network register in an hour', async () => {
      const register = async () => {
        const body = JSON.stringify({ redirect_uris: [loopback] });
        const headers = { 'content-type': 'application/json' };
        return (await fetch(`${on.origin}/oauth/register`, { method: 'POST', headers, body })).status;
      };
      const statuses: number[] = [];
      for (let i = 0; i < 12; i++) statuses.push(await register());
      expect(statuses[0]).toBe(201);
      expect(statuses.at(-1)).toBe(429);
      const bad = JSON.stringify({ redirect_uris: ['javascript:alert(1)'] });
      const headers = { 'content-type': 'application/json' };
      const refused = await fetch(`${on.origin}/oauth/register`, { method: 'POST', headers, body: bad });
      expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
        400,
        'invalid_redirect_uri',
      ]);
    });
  },
);
