import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../../tools/databases/certificates.ts';
import { findCommand } from '../../../../tools/databases/process.ts';
import { createAddressPolicy } from '../../src/network/address-policy.ts';
import { createDial } from '../../src/network/dialer.ts';
import { fetchIssuerKeys } from '../../src/network/issuer-keys.ts';

const publicKey = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: '1' };
const rsa = (bits: number, e = 'AQAB') => ({
  kty: 'RSA',
  n: Buffer.alloc(bits / 8, 1).toString('base64url'),
  e,
});
const keys = {
  keys: [
    publicKey,
    { ...publicKey, d: 'private' },
    { kty: 'oct', k: 'symmetric' },
    rsa(4_096 + 64),
    rsa(2_048, '_____________'),
    { kty: 'RSA' },
  ],
};

describe.skipIf(findCommand('openssl') === undefined)('the keys of an issuer (needs openssl)', () => {
  const original = getCACertificates('default');
  let dir: string;
  let server: Server;
  let issuer: string;
  let answer: RequestListener;
  /** How many the server has had, and how many the rules for addresses allowed. */
  const connections = { had: 0, dialed: 0 };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-issuer-'));
    const { ca, cert, key } = await (await createAuthority(dir))({ name: 'server' });
    setDefaultCACertificates([...original, await readFile(ca, 'utf8')]);
    server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (...args) =>
      answer(...args),
    );
    server.on('connection', () => {
      connections.had++;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    setDefaultCACertificates(original);
    server?.close();
    server?.closeAllConnections();
    await rm(dir, { recursive: true, force: true });
  });

  const fetchKeys = (
    jwksUrl?: string,
    { loopbackAllowed = true, signal = AbortSignal.timeout(60_000) } = {},
  ) => {
    const settings = { loopbackAllowed, privateAllowed: false, allow: [], deny: [], ownNames: [] };
    const policy = createAddressPolicy(settings, async () => ['127.0.0.1']);
    const allowed = createDial({ policy, accountId: 'a', connectTimeoutMs: 5_000 });
    const dial: typeof allowed = async (...args) => {
      const socket = await allowed(...args);
      connections.dialed++;
      return socket;
    };
    return fetchIssuerKeys({ issuer, jwksUrl }, { admit: async () => () => {}, dial, signal });
  };
  const failureOf = (fetching: Promise<unknown>): Promise<[string, string]> =>
    fetching.then(
      () => ['none', ''],
      (err) => [err.code, err.message],
    );
  const json =
    (value: object): RequestListener =>
    (_, response) =>
      response.end(JSON.stringify(value));

  it('are fetched over no other connection than those that the rules for addresses allowed', async () => {
    answer = json(keys);
    const before = { ...connections };
    await fetchKeys(`${issuer}/keys`);
    expect(connections).toEqual({ had: before.had + 1, dialed: before.dialed + 1 });
  });

  it('come from its OpenID configuration or from a given address, and only public ones of a usual size are passed on', async () => {
    const seen: (string | undefined)[] = [];
    answer = (request, response) => {
      seen.push(request.url);
      const configuration = { issuer, jwks_uri: `${issuer}/keys?v=1` };
      response.end(JSON.stringify(request.url?.startsWith('/keys') ? keys : configuration));
    };
    const { jwksJson } = await fetchKeys();
    expect(JSON.parse(jwksJson)).toEqual({ keys: [publicKey] });
    expect(await fetchKeys(`${issuer}/keys`)).toEqual({ jwksJson });
    expect(seen).toEqual(['/.well-known/openid-configuration', '/keys?v=1', '/keys']);
  });

  it.each<[string, () => RequestListener, string]>([
    [
      'another issuer',
      () => json({ issuer: 'https://other', jwks_uri: `${issuer}/keys` }),
      'names another issuer',
    ],
    ['an address that is not https', () => json({ issuer, jwks_uri: 'http://localhost/keys' }), 'not https'],
    ['no address', () => json({ issuer }), 'names no jwks_uri'],
    ['a redirect', () => (_, response) => response.writeHead(302, { location: '/keys' }).end(), 'status 302'],
    [
      'another protocol',
      () => (_, response) => response.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end(),
      'status 101',
    ],
    ['no JSON', () => (_, response) => response.end('<html>'), 'is not JSON'],
    ['null', () => (_, response) => response.end('null'), 'not a JSON object'],
    ['too much', () => json({ issuer, more: 'x'.repeat(65_536) }), 'more than 65536 bytes'],
    [
      'half an answer',
      () => (_, response) =>
        response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
      'was cut',
    ],
  ])('are missing if the issuer answers with %s', async (_, create, reason) => {
    answer = create();
    expect(await failureOf(fetchKeys())).toEqual(['UNAVAILABLE', expect.stringContaining(reason)]);
  });

  it('are missing if the issuer does not answer in time', async () => {
    const stop = new AbortController();
    answer = (request) => {
      request.on('error', () => {});
      stop.abort();
    };
    expect((await failureOf(fetchKeys(undefined, { signal: stop.signal })))[1]).toContain('longer than 5 s');
  });

  it('are missing if the set has no public key', async () => {
    answer = json({ keys: keys.keys.slice(1) });
    expect((await failureOf(fetchKeys(`${issuer}/keys`)))[1]).toContain('no public key');
  });

  it('are fetched under the rules for addresses, and only with a certificate that the hub trusts', async () => {
    answer = json(keys);
    const message = (await failureOf(fetchKeys(`${issuer}/keys`, { loopbackAllowed: false })))[1];
    expect(message).toContain('cannot be reached over HTTPS');
    const { port } = new URL(issuer);
    // The certificate has no such name. The message is the same, so that the hub is no port scanner.
    expect((await failureOf(fetchKeys(`https://other.example:${port}/keys`)))[1]).toBe(message);
    expect((await failureOf(fetchKeys('https://localhost:9/keys')))[1]).toBe(message);
  });
});
