/** Providers of OpenID Connect with one person, Grace Hopper, whom a browser signs in: real ones behind a network that can fail. */

import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { startKeycloak } from '../../../tools/databases/keycloak.ts';
import {
  clientId,
  clientSecret,
  type ProvidedPerson,
  startProvider,
} from '../../support/browser/provider.ts';
import { type FaultyNetwork, startNetwork } from './network.ts';

export interface TestedProvider {
  issuer: string;
  /** Grace's id there. */
  subject: string;
  network: FaultyNetwork;
  /** Fills in what its page asks for. */
  enter(page: Page): Promise<void>;
  setGroups(groups: string[]): Promise<void>;
  setDisabled(isDisabled: boolean): Promise<void>;
  /** Ends Grace's sessions at the provider, which tells the hub. */
  signOut(page: Page): Promise<void>;
  /** Signs with another key from now on. */
  rotateKeys(): Promise<void>;
  close(): Promise<void>;
}

/** `origins`: of hubs; the first one is told who signed out. Undefined if there is no such provider here. */
export type StartProvider = (origins: readonly string[]) => Promise<TestedProvider | undefined>;

const person = { name: 'Grace Hopper', email: 'grace@example.com' };
const inFrontOf = async (port: number) => {
  const network = await startNetwork({ host: '127.0.0.1', port });
  return { network, address: `http://127.0.0.1:${network.port}` };
};

export const startOidcProvider: StartProvider = async (origins) => {
  let network: FaultyNetwork | undefined;
  const provider = await startProvider(origins, async (port) => {
    const front = await inFrontOf(port);
    network = front.network;
    return front.address;
  });
  let said: ProvidedPerson = { ...person, email_verified: true };
  const say = (change: ProvidedPerson) => {
    said = { ...said, ...change };
    provider.people.set('grace', said);
  };
  say({ groups: ['data'] });
  provider.who = 'grace';
  return {
    issuer: provider.issuer,
    subject: 'grace',
    network: network as unknown as FaultyNetwork,
    enter: async () => {},
    setGroups: async (groups) => say({ groups }),
    setDisabled: async (isDisabled) => {
      if (isDisabled) provider.people.delete('grace');
      else say({});
    },
    signOut: async (page) => {
      const other = await page.context().newPage();
      await other.goto(`${provider.issuer}/session/end`);
      await other.getByRole('button', { name: 'Yes, sign me out' }).click();
      await other.getByText('Sign-out Success').waitFor();
      await other.close();
    },
    rotateKeys: provider.rotateKeys,
    close: async () => {
      network?.close();
      await provider.close();
    },
  };
};

export const startKeycloakRealm: StartProvider = async (origins) => {
  const server = await startKeycloak({ say: (line) => console.log(line) });
  if (server === undefined) return undefined;
  const { network, address } = await inFrontOf(Number(new URL(server.url).port));
  const name = `hub-${randomBytes(4).toString('hex')}`;
  const { username, password: adminPassword } = new URL(server.url);
  // Through the network, because the address of a call is the issuer of what Keycloak sends because of it.
  const call = createAdmin(address, { username, password: adminPassword });
  await call('POST', '', { realm: name, enabled: true, sslRequired: 'none', groups: [{ name: 'data' }] });
  const realm: Call = (method, path, body) => call(method, `/${name}${path}`, body);
  await realm('POST', '/clients', clientOf(origins));
  const password = randomBytes(12).toString('hex');
  await realm('POST', '/users', {
    ...{ username: 'grace', enabled: true, email: person.email, emailVerified: true },
    ...{ firstName: 'Grace', lastName: 'Hopper', groups: ['data'] },
    credentials: [{ type: 'password', value: password, temporary: false }],
  });
  const [user] = await realm('GET', '/users?username=grace');
  const [group] = await realm('GET', '/groups');
  return {
    issuer: `${address}/realms/${name}`,
    subject: user.id,
    network,
    enter: async (page) => {
      await page.getByLabel('Username or email').fill('grace');
      await page.getByRole('textbox', { name: 'Password' }).fill(password);
      await page.getByRole('button', { name: 'Sign In' }).click();
    },
    setGroups: async (groups) => {
      const method = groups.includes('data') ? 'PUT' : 'DELETE';
      await realm(method, `/users/${user.id}/groups/${group.id}`);
    },
    setDisabled: async (isDisabled) =>
      void (await realm('PUT', `/users/${user.id}`, { enabled: !isDisabled })),
    signOut: async () => void (await realm('POST', `/users/${user.id}/logout`)),
    rotateKeys: async () => {
      const { id } = await realm('GET', '');
      const config = { priority: ['1000'], keySize: ['2048'], algorithm: ['RS256'] };
      const providerType = 'org.keycloak.keys.KeyProvider';
      await realm('POST', '/components', {
        ...{ name: 'newer', providerId: 'rsa-generated', providerType, parentId: id, config },
      });
    },
    close: async () => {
      network.fault = 'none';
      await call('DELETE', `/${name}`);
      network.close();
      await server.stop();
    },
  };
};

type Call = (method: string, path: string, body?: object) => Promise<any>;

/** Calls below `/admin/realms`, each with a token of its own: they live for a minute. */
function createAdmin(origin: string, admin: { username: string; password: string }): Call {
  return async (method, path, body) => {
    const fields = { grant_type: 'password', client_id: 'admin-cli', ...admin };
    const granted = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(fields),
    });
    const { access_token: token } = (await granted.json()) as { access_token: string };
    const response = await fetch(`${origin}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Keycloak answered ${method} ${path} with ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** As docs/people.md says. */
const clientOf = ([told, ...others]: readonly string[]) => ({
  ...{ clientId, secret: clientSecret, publicClient: false, standardFlowEnabled: true },
  ...{
    directAccessGrantsEnabled: false,
    redirectUris: [told, ...others].map((origin) => `${origin}/auth/callback`),
  },
  attributes: {
    'backchannel.logout.url': `${told}/auth/backchannel-logout`,
    'backchannel.logout.session.required': 'true',
  },
  protocolMappers: [
    {
      ...{ name: 'groups', protocol: 'openid-connect', protocolMapper: 'oidc-group-membership-mapper' },
      config: {
        ...{ 'claim.name': 'groups', 'full.path': 'false' },
        ...{ 'id.token.claim': 'true', 'userinfo.token.claim': 'true' },
      },
    },
  ],
});
