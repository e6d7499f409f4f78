/** The cases of the ledger: what the hub stores for them, and the requests. */

import { createTestIssuer } from '../../tests/support/user-tokens.ts';
import type { Engine } from './databases.ts';

/** In the order in which they are counted. */
export const caseNames = [
  'minimal',
  'parameters',
  'record',
  'records',
  'write',
  'cached',
  'notModified',
  'signedIn',
  'predict',
] as const;
export type CaseName = (typeof caseNames)[number];

/** Those that run a statement. The hand-written program has these alone. */
export const executed: readonly CaseName[] = ['minimal', 'parameters', 'record', 'records', 'write'];

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: object;
  status: number;
}

/** The request with this number. */
export type Calls = Partial<Record<CaseName, (number: number) => Call>>;

export type Send = (call: Omit<Call, 'status'>) => Promise<{ status: number; etag?: string; text: string }>;

const idOf = (number: number) => (number % 900) + 1;
const parameters = Array.from({ length: 20 }, (_, i) => `p${i}`);
const valuesOf = (number: number) =>
  Object.fromEntries(parameters.map((name, i) => [name, i === 0 ? idOf(number) : 100_000 + i]));

export const callsByHand: Calls = {
  minimal: () => ({ method: 'POST', path: '/minimal', body: {}, status: 200 }),
  parameters: (number) => ({ method: 'POST', path: '/parameters', body: valuesOf(number), status: 200 }),
  record: (number) => ({ method: 'POST', path: '/record', body: { id: idOf(number) }, status: 200 }),
  records: (number) => ({ method: 'POST', path: '/records', body: { id: idOf(number) }, status: 200 }),
  write: (number) => ({ method: 'POST', path: '/write', body: { id: idOf(number) }, status: 200 }),
};

const columns = 'SELECT id, name, amount FROM ledger_rows';
const queries = {
  minimal: { query: 'SELECT 1 AS one', names: [] },
  parameters: {
    query: `${columns} WHERE id IN (${parameters.map((name) => `:${name}`).join(', ')})`,
    names: parameters,
  },
  record: { query: `${columns} WHERE id = :id`, names: ['id'] },
  records: { query: `${columns} WHERE id >= :id ORDER BY id LIMIT 100`, names: ['id'] },
  write: {
    query: 'UPDATE ledger_rows SET amount = amount + 1 WHERE id = :id',
    names: ['id'],
    command: 'UPDATE',
  },
  cached: { query: `${columns} WHERE id = :id`, names: ['id'], cache: { maxAgeS: 86_400 } },
} satisfies Partial<Record<CaseName, object>>;

/**
 * Stores the queries and trains the classifier. A hub of 2026-11-22 or before has no signed-in users, no cached results and
 * no GET.
 */
export async function storeCases(
  send: Send,
  { engine, url }: { engine: Engine; url: string },
  isOlder = false,
): Promise<Calls> {
  const post = async (path: string, body: object) => {
    const { status, text } = await send({ method: 'POST', path, body });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text);
  };
  const { hostname, port, username, password, pathname } = new URL(url);
  const { hubId } = await post('/v1/hubs', { label: 'ledger' });
  const { sourceId } = await post('/v1/sources', {
    hubId,
    label: 'ledger',
    engine,
    connectionSettings: {
      host: hostname,
      port: Number(port),
      user: username,
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      // Like the hand-written program: both drivers connect without TLS by default.
      tls: { mode: 'disable' },
    },
  });
  const ids: Record<string, string> = {};
  for (const [name, { names, ...query }] of Object.entries(queries)) {
    if (isOlder && 'cache' in query) continue;
    const context = names.map((key) => ({ key, type: 'integer' }));
    const stored = await post('/v1/queries', { hubId, sourceId, label: name, context, ...query });
    ids[name] = stored.config.query.queryId;
  }
  const execute = (name: string, context: object): Call => ({
    method: 'POST',
    path: '/v1/queries/execute',
    body: { queryId: ids[name], context },
    status: 200,
  });
  const { id: classifierId } = await post('/v1/classifiers', { name: 'ledger' });
  await post(`/v1/classifiers/${classifierId}/train`, { examples });
  const calls: Calls = {
    minimal: () => execute('minimal', {}),
    parameters: (number) => execute('parameters', valuesOf(number)),
    record: (number) => execute('record', { id: idOf(number) }),
    records: (number) => execute('records', { id: idOf(number) }),
    write: (number) => execute('write', { id: idOf(number) }),
    predict: () => ({
      method: 'POST',
      path: `/v1/classifiers/${classifierId}/predict`,
      body: { context: 'the parcel has not arrived' },
      status: 200,
    }),
  };
  if (isOlder) return calls;
  const conditional = { method: 'GET', path: `/v1/queries/${ids.cached}/data?id=7` } as const;
  // A result that is streamed for the first time has no ETag.
  await send(conditional);
  const { etag = '' } = await send(conditional);
  return {
    ...calls,
    cached: () => execute('cached', { id: 7 }),
    notModified: () => ({ ...conditional, headers: { 'if-none-match': etag }, status: 304 }),
    signedIn: await storeSignedIn(post, ids.record as string),
  };
}

const users = 1_000;

/** `record` for the signed-in users of a key: the id is a claim of their token. */
async function storeSignedIn(
  post: (path: string, body: object) => Promise<{ key: string }>,
  queryId: string,
): Promise<(number: number) => Call> {
  const issuer = await createTestIssuer();
  const { audience, jwks } = issuer;
  const user = { issuer: issuer.issuer, audience, jwks, claims: { id: 'row' } };
  const limits = { queryIds: [queryId], user };
  const { key } = await post('/v1/keys', { name: 'ledger', scopes: ['queries:execute'], limits });
  const tokens = await Promise.all(
    Array.from({ length: users }, (_, i) => issuer.sign({ sub: `user ${i}`, row: idOf(i) })),
  );
  return (number) => ({
    method: 'POST',
    path: '/v1/queries/execute',
    headers: { 'x-service-api-key': key, authorization: `Bearer ${tokens[number % users]}` },
    body: { queryId, context: {} },
    status: 200,
  });
}

const examples = [
  ['late', 'my parcel is late again'],
  ['late', 'the parcel has not arrived yet'],
  ['late', 'where is the package I ordered'],
  ['late', 'it should have come last week'],
  ['refund', 'please send my money back'],
  ['refund', 'I want a refund for this order'],
  ['refund', 'you charged me twice'],
  ['refund', 'return the amount to my card'],
  ['broken', 'the screen is cracked'],
  ['broken', 'it does not switch on'],
  ['broken', 'one of the cups came in pieces'],
  ['broken', 'the zip of the bag broke on the first day'],
].map(([label, context]) => ({ label, context }));
