import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, idShape, sourceBody } from '../support/hub.ts';

interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

describe('destinations', () => {
  let server: Server;
  let origin: string;
  let hubId: string;
  let queryId: string;
  const received: Received[] = [];
  /** How the receiver answers, by path. */
  const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {};

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const path = request.url as string;
      received.push({ path, headers: request.headers as Record<string, string>, body: await text(request) });
      const answer = answers[path];
      if (answer === undefined) response.end('ok');
      else answer(response, request);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'destinations' })));
    const sourceId = await createSource(hubId);
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' };
    queryId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const create = (more: object): Promise<{ destinationId: string; secret: string }> =>
    api.ok(api.post('/v1/destinations', { label: 'd', hubIds: [hubId], ...more }));
  const test = async (destinationId: string): Promise<any> => {
    const { deliveryId } = await api.ok(api.post(`/v1/destinations/${destinationId}/test`));
    return ended(destinationId, deliveryId);
  };
  const deliveriesOf = (destinationId: string): Promise<any[]> =>
    api.ok(api.get(`/v1/deliveries?destinationId=${destinationId}`));
  /** Resolves to the delivery after its first attempt. */
  const ended = async (destinationId: string, deliveryId: string): Promise<any> => {
    const find = async () => (await deliveriesOf(destinationId)).find((one) => one.deliveryId === deliveryId);
    await expect.poll(async () => (await find()).attempts, { timeout: 40_000, interval: 100 }).toBe(1);
    return find();
  };
  const sentTo = (path: string) => received.filter((one) => one.path === path);

  it('signs what the package standardwebhooks verifies, with both secrets while one is replaced', async () => {
    const { destinationId, secret } = await create({ url: `${origin}/signed` });
    expect(destinationId).toMatch(idShape('dest'));
    expect(await test(destinationId)).toMatchObject({
      state: 'delivered',
      status: 200,
      type: 'destination.test',
    });
    const next = await api.ok(api.post(`/v1/destinations/${destinationId}/rotate`));
    await test(destinationId);
    const [first, second] = sentTo('/signed') as [Received, Received];
    for (const [signer, { body, headers }] of [
      [secret, first],
      [secret, second],
      [next.secret, second],
    ] as const)
      expect(new Webhook(signer).verify(body, headers)).toMatchObject({ type: 'destination.test' });
    expect(() => new Webhook(next.secret).verify(first.body, first.headers)).toThrow();
    const listed = (await api.get('/v1/destinations')).text;
    expect(listed).toContain(destinationId);
    for (const one of [secret, next.secret]) expect(listed).not.toContain(one.slice(6));
  });

  it('is verified by the receiver of docs/events.md', async () => {
    const page = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8');
    const [, program = ''] = /```js\n(import .*?)```/s.exec(page) ?? [];
    const port = await freePort();
    const { destinationId, secret } = await create({ url: `http://127.0.0.1:${port}/` });
    // Below the project, so that the program finds its modules.
    await mkdir(new URL('../../.cache/', import.meta.url), { recursive: true });
    const file = fileURLToPath(new URL(`../../.cache/receiver-${port}.mjs`, import.meta.url));
    await writeFile(file, program.replace('9000', String(port)));
    const receiver = spawn(process.execPath, [file], { env: { ...process.env, SECRET: secret } });
    try {
      let printed = '';
      for (const stream of [receiver.stdout, receiver.stderr])
        stream.setEncoding('utf8').on('data', (piece: string) => {
          printed += piece;
        });
      const forged = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
      await expect
        .poll(
          () =>
            forged().then(
              ({ status }) => status,
              () => printed,
            ),
          { timeout: 20_000 },
        )
        .toBe(400);
      expect(await test(destinationId)).toMatchObject({ state: 'delivered', status: 200 });
      expect(printed).toContain('destination.test');
    } finally {
      receiver.kill();
      await rm(file);
    }
  });

  it('is told by a watch, once and with the id of the delivery', async () => {
    const { destinationId } = await create({ url: `${origin}/told` });
    const slack = await create({ url: `${origin}/slack`, template: 'slack' });
    const watchId = (
      await api.ok(
        api.post('/v1/watches', {
          ...{ hubId, queryId, label: 'A & B', when: { column: 'one', is: '=', value: 1 }, include: ['one'] },
          schedule: { cron: '0 0 1 1 *', timeZone: 'UTC' },
          to: [destinationId, slack.destinationId],
        }),
      )
    ).watchId;
    await api.ok(api.post(`/v1/watches/${watchId}/run`));
    await expect
      .poll(() => sentTo('/told').length + sentTo('/slack').length, { timeout: 30_000, interval: 100 })
      .toBe(2);
    const [told] = sentTo('/told') as [Received];
    expect(JSON.parse(told.body)).toMatchObject({
      type: 'watch.firing',
      data: { watchId, rows: [{ one: 1 }] },
    });
    const [delivery] = await deliveriesOf(destinationId);
    expect(told.headers['webhook-id']).toBe(delivery.deliveryId);
    expect(JSON.parse((sentTo('/slack')[0] as Received).body)).toEqual({ text: 'A &amp; B is firing' });
    expect(sentTo('/told')).toHaveLength(1);
    await api.ok(api.delete(`/v1/watches/${watchId}`));
  });

  it('follows no redirect, reads no answer, and sends again what failed', async () => {
    answers['/moved'] = (response) => response.writeHead(302, { location: `${origin}/target` }).end();
    answers['/failing'] = (response) => response.writeHead(500).end();
    /** A body without an end. */
    answers['/endless'] = (response) => {
      response.writeHead(200);
      const write = () => {
        if (!response.destroyed) response.write(Buffer.alloc(65_536), write);
      };
      write();
    };
    answers['/cut'] = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.flushHeaders();
      response.destroy();
    };
    answers['/closing'] = (_, request) => request.socket.destroy();
    const outcome = async (path: string) => {
      const { destinationId } = await create({ url: `${origin}${path}` });
      const { state, status, error } = await test(destinationId);
      return [path, state, status, error];
    };
    const unreached = 'The destination cannot be reached.';
    expect(await Promise.all(['/moved', '/failing', '/endless', '/cut', '/closing'].map(outcome))).toEqual([
      ['/moved', 'failed', 302, null],
      ['/failing', 'failed', 500, null],
      ['/endless', 'delivered', 200, null],
      ['/cut', 'delivered', 200, null],
      ['/closing', 'failed', null, unreached],
    ]);
    expect(sentTo('/target')).toEqual([]);
  });

  it('repeats a delivery with its id until it arrives', async () => {
    let failures = 1;
    answers['/later'] = (response) => response.writeHead(failures-- > 0 ? 503 : 204).end();
    const { destinationId, secret } = await create({ url: `${origin}/later` });
    const { deliveryId } = await test(destinationId);
    expect(await api.ok(api.post(`/v1/deliveries/${deliveryId}/redeliver`))).toEqual({ count: 1 });
    await expect.poll(() => sentTo('/later').length, { timeout: 30_000, interval: 100 }).toBe(2);
    const [first, second] = sentTo('/later') as [Received, Received];
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    for (const { body, headers } of [first, second]) new Webhook(secret).verify(body, headers);
  });

  it('is told what happens in the hub, in bodies that the OpenAPI document describes', async () => {
    const types = ['query.published', 'query.broken', 'source.unreachable', 'source.reachable', 'job.ended'];
    await create({ url: `${origin}/hub`, events: types });
    const { connectionSettings, ...body } = sourceBody(hubId);
    const down = { ...body, label: 'down', connectionSettings: { ...connectionSettings, port: 1 } };
    const { sourceId } = await api.ok(api.post('/v1/sources', down));
    const query = { hubId, sourceId, label: 'd', query: 'SELECT id, text, label FROM nothing' };
    const brokenId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
    const run = () => api.post('/v1/queries/execute', { queryId: brokenId });
    await run();
    const told = () => sentTo('/hub').map(({ body }) => JSON.parse(body));
    const tells = (type: string, data: object) =>
      expect
        .poll(told, { timeout: 60_000, interval: 200 })
        .toContainEqual(expect.objectContaining({ type, data: expect.objectContaining(data) }));
    await tells('query.published', { queryId: brokenId, label: 'd', version: 1 });
    await tells('source.unreachable', { sourceId, label: 'down', code: 'SOURCE_UNREACHABLE' });
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings }));
    await run();
    await api.get(`/v1/queries/${brokenId}?signature=true`);
    await tells('query.broken', { queryId: brokenId });
    const { id: classifierId } = await api.ok(api.post('/v1/classifiers', { name: 'd' }));
    const job = { queryId: brokenId, text: 'text', label: 'label', id: 'id' };
    const { jobId } = await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, job));
    await tells('job.ended', { jobId, state: 'failed', queryId: brokenId });
    await tells('source.reachable', { sourceId });
    const { webhooks } = await api.ok(api.get('/openapi.json'));
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { body } of received) {
      const sent = JSON.parse(body);
      const found = webhooks[sent.type];
      if (found === undefined) continue;
      const { schema } = found.post.requestBody.content['application/json'];
      expect([sent, ajv.validate(schema, sent), ajv.errors]).toEqual([sent, true, null]);
    }
  }, 180_000);

  it('refuses addresses of the network around it without a word about them', async () => {
    const hostile = [
      'http://169.254.169.254/latest/meta-data/',
      'http://[::ffff:169.254.169.254]/',
      'http://0xa9fea9fe/',
      'http://2852039166/',
      'http://100.100.100.200/',
      'http://[fd00:ec2::254]/',
      'http://0.0.0.0/',
      'http://[fe80::1]/',
    ];
    const outcomes = await Promise.all(
      hostile.map(async (url) => {
        const { destinationId } = await create({ url });
        const { state, status, error } = await test(destinationId);
        return [url, state, status, error];
      }),
    );
    expect(outcomes).toEqual(
      hostile.map((url) => [url, 'failed', null, 'The destination cannot be reached.']),
    );
    const refused = ['ftp://example.com/', 'https://user:word@example.com/', 'no address', 'https://a/#b'];
    for (const url of [...refused, 'https://a/\r\nx: y', ' https://a/', 'https://a/b c'])
      expect((await api.post('/v1/destinations', { label: 'd', url })).body.errors?.[0]?.pointer).toBe(
        '/url',
      );
  });

  it('shows address and events only with destinations:write', async () => {
    const { destinationId } = await create({ url: `${origin}/hidden`, events: ['watch.failed'] });
    const { key } = await api.ok(
      api.post('/v1/keys', { name: 'k', scopes: ['watches:read'], limits: { hubIds: [hubId] } }),
    );
    const listed = await api.ok(api.get('/v1/destinations', { key }));
    const found = listed.find((one: any) => one.destinationId === destinationId);
    expect(found).toEqual({ destinationId, label: 'd', kind: 'webhook', disabled: false });
    const path = `/v1/destinations/${destinationId}`;
    expect(await api.ok(api.get(path, { key }))).toEqual(found);
    const whole = await api.get(path);
    expect([whole.body.url, whole.body.events]).toEqual([`${origin}/hidden`, ['watch.failed']]);
    // Its ETag is that of a change.
    const at = (tag: string) => ({ headers: { 'if-match': tag } });
    const etag = whole.headers.get('etag') ?? '';
    const body = { label: 'e', url: `${origin}/hidden`, hubIds: [hubId] };
    expect((await api.put(path, body, at(etag))).status).toBe(200);
    expect((await api.put(path, body, at(etag))).status).toBe(412);
    const { hubId: other } = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const scopes = { scopes: ['watches:read'], limits: { hubIds: [other] } };
    const elsewhere = (await api.ok(api.post('/v1/keys', { name: 'k', ...scopes }))).key;
    expect((await api.get(path, { key: elsewhere })).status).toBe(404);
    expect((await api.get(`/v1/deliveries?destinationId=${destinationId}`, { key })).status).toBe(403);
  });
});
