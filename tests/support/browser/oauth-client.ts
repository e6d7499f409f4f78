/** A client of OAuth with the state of the official SDK of MCP, and the person's part: the page of consent. */

import { createHash } from 'node:crypto';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Agent } from './provider.ts';

/** Of requests without the SDK. */
export const verifier = 'v'.repeat(43);
export const challenge = createHash('sha256').update(verifier).digest('base64url');

export type TestClient = OAuthClientProvider & {
  /** Where the SDK sent the person last. */
  sentTo(): URL;
  refreshToken(): string;
};

export interface ClientOptions {
  redirectUrl: string;
  /** The address at which the client describes itself. */
  metadataUrl?: string;
  /** From a registration. */
  registered?: { client_id: string; client_secret?: string };
}

export function createOAuthClient({ redirectUrl, metadataUrl, registered }: ClientOptions): TestClient {
  const kept: Record<string, unknown> = registered === undefined ? {} : { client: registered };
  return {
    redirectUrl,
    ...(metadataUrl === undefined ? {} : { clientMetadataUrl: metadataUrl }),
    clientMetadata: { client_name: 'Test <b>agent</b>', redirect_uris: [redirectUrl] },
    state: () => 'the-state',
    clientInformation: () => kept.client as never,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens as never,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (sentTo) => void Object.assign(kept, { sentTo }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier as string,
    saveDiscoveryState: (discovery) => void Object.assign(kept, { discovery }),
    discoveryState: () => kept.discovery as never,
    sentTo: () => kept.sentTo as URL,
    refreshToken: () => (kept.tokens as { refresh_token: string }).refresh_token,
  };
}

const unescaped = (text: string): string =>
  text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

/** The fields of the form of a page, with those boxes that are checked. */
export function fieldsOf(html: string): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const attribute = (name: string) => unescaped(new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '');
    const isOff = attribute('type') === 'checkbox' && !/ checked/.test(input);
    if (!isOff && attribute('type') !== 'password') fields.append(attribute('name'), attribute('value'));
  }
  return fields;
}

export const sendForm = (agent: Agent, origin: string, fields: URLSearchParams): Promise<Response> =>
  agent.send(`${origin}/oauth/authorize`, { method: 'POST', body: fields, headers: { origin } });

/** Opens the page, allows, and returns where the browser is led. `change`: what the person chooses otherwise. */
export async function consent(
  agent: Agent,
  address: URL,
  change: (fields: URLSearchParams) => void = () => {},
): Promise<URL> {
  const page = await agent.send(address.href);
  const fields = fieldsOf(await page.text());
  fields.set('decision', 'allow');
  change(fields);
  const answer = await sendForm(agent, address.origin, fields);
  return new URL(answer.headers.get('location') ?? `about:${answer.status}`);
}

/** Connects the official client of MCP with the address of the hub alone; the person allows it. */
export async function connectByAddress(
  { person, origin }: { person: Agent; origin: string },
  options: ClientOptions,
  change?: (fields: URLSearchParams) => void,
) {
  const oauth = createOAuthClient(options);
  const open = () => new StreamableHTTPClientTransport(new URL('/mcp', origin), { authProvider: oauth });
  const before = open();
  const refusal = await new Client({ name: 'test', version: '1' }).connect(before).then(
    () => undefined,
    (err: Error) => err,
  );
  if (refusal === undefined) throw new Error('The hub accepted an agent without a token.');
  const led = await consent(person, oauth.sentTo(), change);
  await before.finishAuth(led.searchParams);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(open());
  return { client, oauth, led };
}
