import { cliClient } from '@datahub/contract/people/oauth';
import { type Role, scopesOfRole } from '@datahub/contract/roles';
import { isGranted, type Scope } from '@datahub/contract/scopes';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '../support/api.ts';
import { loopback } from '../support/browser/agents-hub.ts';
import { challenge, consent, verifier } from '../support/browser/oauth-client.ts';
import {
  type Agent,
  createAgent,
  oidcSettings,
  startProvider,
  type TestProvider,
} from '../support/browser/provider.ts';
import { makeResources } from '../support/hub.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { ask, bodyNames, columns, type Ids, isRefused, type Named, routes, table } from './route-reach.ts';

/** One person has another role in each hub, and a key of this person only that of the admin. */
const roleIn: Record<'A' | 'B' | 'C' | 'D', Role | undefined> = {
  A: 'viewer',
  B: 'editor',
  C: 'admin',
  D: undefined,
};
type Place = keyof typeof roleIn;
const places = Object.keys(roleIn) as Place[];

let provider: TestProvider;
let hub: SpawnedHub;
const idsOf = {} as Record<Place, Ids>;
const callers: Record<string, { as: CallOptions; roles: typeof roleIn }> = {};

beforeAll(async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  provider = await startProvider(origin);
  hub = await spawnHub({ PORT: String(port), ...oidcSettings(provider, origin) });
  for (const place of places) {
    idsOf[place] = {};
    await makeResources(idsOf[place], undefined, hub.api);
    await hub.api.ok(hub.api.put(`/v1/queries/${idsOf[place].queryId}`, { meta: { path: 'mine' } }));
    const role = roleIn[place];
    const grant = { who: { subject: 'ada' }, role, hubIds: [idsOf[place].hubId] };
    if (role !== undefined) await hub.api.ok(hub.api.post('/v1/grants', grant));
  }
  provider.people.set('ada', { name: 'Ada' });
  provider.who = 'ada';
  const agent = createAgent();
  await agent.visit(`${origin}/auth/login`);
  const cookie = agent.cookies(origin);
  const session = { key: null, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
  const limits = { hubIds: [idsOf.C.hubId] };
  const { key } = await hub.api.ok(hub.api.post('/v1/keys', { name: 'k', scopes: ['*'], limits }, session));
  callers.session = { as: session, roles: roleIn };
  callers['the command line'] = { as: { key: await signInCli(agent, origin) }, roles: roleIn };
  callers.key = { as: { key }, roles: { A: undefined, B: undefined, C: 'admin', D: undefined } };
});
afterAll(async () => {
  await hub?.close();
  await provider?.close();
});

/** The token of `datahub login`, which acts for the person. */
async function signInCli(agent: Agent, origin: string): Promise<string> {
  const [client_id, resource] = [cliClient.clientId, `${origin}/v1`];
  const asked = new URL('/oauth/authorize', origin);
  const challenged = { code_challenge: challenge, code_challenge_method: 'S256' };
  asked.search = String(
    new URLSearchParams({
      ...{ response_type: 'code', client_id, redirect_uri: loopback, state: 's', resource },
      ...challenged,
    }),
  );
  const code = (await consent(agent, asked)).searchParams.get('code') as string;
  const redeemed = { grant_type: 'authorization_code', code, code_verifier: verifier };
  const response = await fetch(`${origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...redeemed, client_id, redirect_uri: loopback, resource }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  // Without one, the requests would be the operator's.
  expect(token).toMatch(/^dh/);
  return token;
}

const has = (role: Role | undefined, scope: Scope | undefined) =>
  role !== undefined && (scope === undefined || isGranted(scopesOfRole[role], scope));

/** A key or a job of the caller's own for a request about one. */
async function own({ path, name }: Named, place: Place, as: CallOptions): Promise<Ids> {
  const ids = idsOf[place];
  if (!path.includes(':keyId') || place !== 'C') return ids;
  const body = { name: name.slice(0, 20), scopes: ['hubs:read'], limits: { hubIds: [ids.hubId] } };
  return { ...ids, keyId: (await hub.api.ok(hub.api.post('/v1/keys', body, as))).keyId };
}

/** A key has no session of its person to end, and the person started no job. */
const compared = routes.filter(({ name, path }) => !/people\/current/.test(name) && !path.includes(':jobId'));

describe.each(['session', 'the command line', 'key'])('a person by %s', (caller) => {
  it.each(compared.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const { as, roles } = callers[caller] as (typeof callers)[string];
    const reach = table[name]?.[columns.indexOf('hubIds')];
    const isAbout =
      /:\w+/.test(route.path) ||
      bodyNames(route, idsOf.A) ||
      name === 'POST /v1/keys' ||
      (route.query ?? []).some((one) => /^(hubId|resourceId)$/.test(one));
    for (const place of places) {
      const ids = await own(route, place, as);
      const answer = await ask(route, ids, { ...as, limits: { hubIds: [ids.hubId] }, as: hub.api });
      const where = `${name} in ${place}: ${answer.status} ${answer.text.slice(0, 300)}`;
      expect([400, 401, 429, 500], where).not.toContain(answer.status);
      const anywhere = places.some((one) => has(roles[one], route.scope));
      const isAllowed =
        reach !== 'none' &&
        (isAbout && (reach === 'own' || name === 'POST /v1/keys')
          ? has(roles[place], route.scope)
          : anywhere);
      expect(isRefused(answer.status), where).toBe(!isAllowed);
      if (isAbout || reach !== 'own') continue;
      // A list, which must not name what is in other hubs.
      for (const other of places)
        if (!has(roles[other], route.scope))
          for (const id of Object.values(idsOf[other])) expect(answer.text).not.toContain(id);
    }
  });
});

it('shows the addresses of destinations in the hubs where the person may write them', async () => {
  type Listed = { label: string; url?: string; hubIds?: string[] };
  const all: Listed[] = await hub.api.ok(hub.api.get('/v1/destinations', callers.session?.as));
  const listed = all.filter(({ label }) => label === 'mine');
  expect(listed).toHaveLength(3);
  const withAddress = listed.filter(({ url }) => url !== undefined);
  expect(withAddress.map(({ hubIds }) => hubIds)).toEqual([[idsOf.C.hubId]]);
});
