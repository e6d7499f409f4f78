/** Requests that carry a source's secrets where they belong, and are wrong about anything else. */

import { randomInt } from 'node:crypto';
import type { CallOptions } from '../../support/api.ts';
import type { Canary } from './canary.ts';

type Body = Record<string, unknown>;
export type FuzzedRequest = [method: string, path: string, options: CallOptions];

const pick = <T>(list: readonly T[]): T => list[randomInt(list.length)] as T;

export function fuzzedRequest(canary: Canary, ids: { hubId: string; sourceId: string }): FuzzedRequest {
  const { user, password, tlsKey } = canary;
  const body: Body = {
    hubId: ids.hubId,
    label: 'fuzzed',
    engine: pick(['postgres', 'mariadb', 'mysql']),
    connectionSettings: {
      host: '127.0.0.1',
      port: 1,
      database: 'd',
      user,
      password,
      tls: {
        mode: 'require',
        cert: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
        key: tlsKey,
      },
    },
  };
  for (let i = randomInt(4); i > 0; i--) pick(mutations)(body, canary);
  const [method, path] = pick([
    ['POST', '/v1/sources'],
    ['POST', '/v1/sources'],
    ['PUT', `/v1/sources/${ids.sourceId}`],
    ['PUT', '/v1/sources/dh.src.unknown'],
    ['POST', '/v1/queries'],
    ['POST', '/v1/hubs'],
    ['DELETE', '/v1/sources'],
    ['PUT', `/v1/sources?password=${encodeURIComponent(password)}`],
    ['POST', `/v1/sources/${ids.sourceId}/test?user=${encodeURIComponent(user)}`],
    ['POST', '/v1/nowhere'],
  ]) as [string, string];
  return [method, path, { raw: spoiled(JSON.stringify(body)), headers: headers() }];
}

/** Where the secrets stand, and where they do not. */
const secretMembers = ['user', 'password'];
const otherMembers = ['host', 'port', 'database', 'pool', 'statementTimeoutMs'];
const odd = (): unknown =>
  pick([null, 0, -1, 1.5, '', 'x'.repeat(70_000), true, [], {}, '\0', '\ud800', 1e300]);

const mutations: ((body: Body, canary: Canary) => void)[] = [
  (body) => {
    body[pick(['hubId', 'label', 'engine', 'driver', 'connectionSettings'])] = odd();
  },
  (body) => {
    delete body[pick(['hubId', 'label', 'engine', 'connectionSettings'])];
  },
  (body, { password }) => {
    body[pick(['secret', '__proto__', 'passwrod', 'sourceId'])] = password;
  },
  inSettings((settings) => {
    settings[pick(otherMembers)] = odd();
  }),
  inSettings((settings) => {
    delete settings[pick([...otherMembers, ...secretMembers])];
  }),
  inSettings((settings, { user, password }) => {
    const secret = pick([user, password]);
    settings[pick(secretMembers)] = pick([[secret], { secret }, secret.repeat(100), `${secret}\0`, odd()]);
  }),
  inSettings((settings, { user, password }) => {
    settings[pick(['username', 'pass', 'passwd', 'tls', 'pool'])] = pick([user, password, { key: password }]);
  }),
  inSettings((settings, { user, password }) => {
    settings[pick(secretMembers)] = `${pick([user, password]).slice(0, pick([1, 2, 9]))}${'*'.repeat(8)}`;
  }),
  inSettings((settings, { tlsKey }) => {
    settings.tls = pick([
      { mode: 'none', key: tlsKey },
      { key: [tlsKey] },
      tlsKey,
      { keys: tlsKey, mode: 1 },
    ]);
  }),
];

function inSettings(change: (settings: Body, canary: Canary) => void): (body: Body, canary: Canary) => void {
  return (body, canary) => {
    const { connectionSettings } = body;
    if (typeof connectionSettings === 'object' && connectionSettings !== null)
      change(connectionSettings as Body, canary);
  };
}

/** Mostly the text itself. */
function spoiled(text: string): string {
  const at = randomInt(text.length);
  return pick([
    text,
    text,
    text,
    text,
    text.slice(0, at),
    `${text.slice(0, at)}\u0001${text.slice(at)}`,
    text.replaceAll('"', "'"),
    JSON.stringify(text),
    `[${text}]`,
    `${text}${text}`,
  ]);
}

function headers(): Record<string, string> {
  return pick<Record<string, string>>([
    {},
    {},
    {},
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'if-match': '"999"' },
    { 'idempotency-key': pick(['a', 'b', 'c']) },
    { 'x-service-api-key': 'x'.repeat(40) },
    { origin: 'https://elsewhere.example' },
    { accept: 'text/csv' },
  ]);
}
