import { type Role, scopesOfRole } from '@datahub/contract/roles';
import { isGranted, type Scope } from '@datahub/contract/scopes';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '../support/api.ts';
import { createAgent, oidcSettings, startProvider, type TestProvider } from '../support/browser/provider.ts';
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
  callers.key = { as: { key }, roles: { A: undefined, B: undefined, C: 'admin', D: undefined } };
});
afterAll(async () => {
  await hub?.close();
  await provider?.close();
});

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

describe.each(['session', 'key'])('a person by %s', (caller) => {
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
