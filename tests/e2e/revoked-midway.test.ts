/** A key that is revoked or limited in the middle of a long request: nothing further begins. */

import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const isPostgres = engines.includes('postgres');
const table = `revoked_${randomBytes(4).toString('hex')}`;
const hubPath = table.replace('_', '-');
let hubId: string;
let sourceId: string;
let otherId: string;

const store = async (query: string, command: string, more: object = {}): Promise<string> => {
  const body = { hubId, sourceId, label: 'q', query, command, ...more };
  return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
};

const newKey = async (...scopes: string[]): Promise<{ keyId: string; key: string }> =>
  api.ok(api.post('/v1/keys', { name: 'revoked midway', scopes }));

/** Sends lines until there is an answer. Gives it, and the number of lines that were sent. */
async function sendOn(path: string, key: string, toLine: (i: number) => object) {
  const { hostname, port } = new URL(inject('hub').url);
  const headers = { 'content-type': 'application/x-ndjson', 'x-service-api-key': key };
  const call = request({ method: 'POST', hostname, port, path, headers });
  call.on('error', () => {});
  let answer: IncomingMessage | undefined;
  const answered = new Promise<void>((resolve, reject) => {
    call.once('close', () => reject(new Error('The connection closed without an answer.')));
    call.once('response', (response) => {
      answer = response;
      resolve();
    });
  });
  let sent = 0;
  while (answer === undefined) {
    const lines = Array.from({ length: 500 }, () => `${JSON.stringify(toLine(++sent))}${' '.repeat(60)}\n`);
    call.write(lines.join(''));
    await Promise.race([answered, wait(100)]);
  }
  const response = answer as IncomingMessage;
  const body = JSON.parse(await text(response));
  call.destroy();
  return { status: response.statusCode, body, sent };
}

describe.runIf(isPostgres)('a key that is changed in the middle (needs PostgreSQL)', () => {
  beforeAll(async () => {
    ({ hubId: otherId } = await api.ok(api.post('/v1/hubs', { label: 'another' })));
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'revoked midway', path: hubPath })));
    sourceId = await createSource(hubId, 'postgres');
    await execute({ hubId, sourceId, query: `CREATE TABLE ${table} (id INT)`, command: 'CREATE' });
  });
  afterAll(() => execute({ hubId, sourceId, query: `DROP TABLE ${table}`, command: 'DROP' }));

  interface Upload {
    keyId: string;
    queryId: string;
    ownSourceId: string;
  }
  const limit = (keyId: string, limits: object) => api.ok(api.put(`/v1/keys/${keyId}`, { limits }));
  const remove = (path: string) => api.ok(api.delete(path));
  const endings: [string, (upload: Upload) => Promise<unknown>, [number, string]][] = [
    ['its key is revoked', ({ keyId }) => remove(`/v1/keys/${keyId}`), [401, 'KEY_INVALID']],
    [
      'its key is limited to other hubs',
      ({ keyId }) => limit(keyId, { hubIds: [otherId] }),
      [403, 'SCOPE_DENIED'],
    ],
    [
      'its key is given other values',
      ({ keyId }) => limit(keyId, { context: { id: 1 } }),
      [403, 'SCOPE_DENIED'],
    ],
    [
      'its query has another name than its key',
      ({ queryId }) => api.ok(api.put(`/v1/queries/${queryId}`, { meta: { path: 'other' } })),
      [403, 'SCOPE_DENIED'],
    ],
    ['its query is deleted', ({ queryId }) => remove(`/v1/queries/${queryId}`), [404, 'NOT_FOUND']],
    [
      'its source is deleted',
      ({ ownSourceId }) => remove(`/v1/sources/${ownSourceId}`),
      [409, 'SOURCE_GONE'],
    ],
  ];
  it.each(endings)('ends an upload when %s, and committed records stay', async (_, end, ending) => {
    const context = [{ key: 'id', type: 'integer' }];
    const path = `add-${randomBytes(4).toString('hex')}`;
    const ownSourceId = await createSource(hubId, 'postgres');
    const insert = `INSERT INTO ${table} (id) VALUES (:id)`;
    const queryId = await store(insert, 'INSERT', { context, path, sourceId: ownSourceId });
    const count = await store(`SELECT count(*)::int AS n, max(id) AS last FROM ${table}`, 'SELECT');
    const stored = async () => (await api.ok(api.get(`/v1/queries/${count}/data`))).data[0];
    const { keyId, key } = await newKey('queries:execute', 'queries:execute:write');
    await limit(keyId, { queries: [`${hubPath}/${path}`] });
    const { n: before } = await stored();
    const upload = sendOn(`/v1/queries/${queryId}/rows?commitEvery=100`, key, (id) => ({ id }));
    await expect.poll(async () => (await stored()).n, { timeout: 20_000 }).toBeGreaterThan(before);
    await end({ keyId, queryId, ownSourceId });
    const { status, body, sent } = await upload;
    expect([status, body.code]).toEqual(ending);
    const { committedLines } = body;
    expect(committedLines).toBeGreaterThan(0);
    expect(committedLines).toBeLessThan(sent);
    expect(body.detail).toContain(`The lines up to ${committedLines} are committed.`);
    expect(await stored()).toMatchObject({ n: before + committedLines });
  });

  it('ends an import of examples, and those before are learnt', async () => {
    const { id } = await api.ok(api.post('/v1/classifiers', {}));
    const { keyId, key } = await newKey('classifiers:train');
    const example = (i: number) => ({ label: i % 2 === 0 ? 'even' : 'odd', context: `number ${i}` });
    const learnt = async () => {
      const { classes } = await api.ok(api.get(`/v1/classifiers/${id}`));
      return classes.reduce((sum: number, one: { observations: number }) => sum + one.observations, 0);
    };
    const importing = sendOn(`/v1/classifiers/${id}/train`, key, example);
    await expect.poll(learnt, { timeout: 20_000 }).toBeGreaterThan(0);
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    const { status, body } = await importing;
    expect([status, body.code]).toEqual([401, 'KEY_INVALID']);
    expect(body.detail).toContain(`the first ${await learnt()} valid examples of the body were trained.`);
    await api.ok(api.delete(`/v1/classifiers/${id}`));
  });

  it('begins no more of several executions', async () => {
    const slow = await store('SELECT pg_sleep(1), 7 AS n', 'SELECT');
    const { keyId, key } = await newKey('queries:execute');
    const executions = Array(50).fill({ queryId: slow });
    const several = api.ok(api.post('/v1/queries/data', { executions }, { key }));
    const begun = async () => (await api.ok(api.get(`/v1/queries/${slow}/runs`))).length;
    await expect.poll(begun, { timeout: 20_000 }).toBeGreaterThan(0);
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    const answers: { status: number; body: { code?: string } }[] = (await several).executions;
    const first = answers.findIndex(({ status }) => status !== 200);
    expect(first).toBeGreaterThan(0);
    for (const { status, body } of answers.slice(first + 6))
      expect([status, body.code]).toEqual([401, 'KEY_INVALID']);
  });
});
