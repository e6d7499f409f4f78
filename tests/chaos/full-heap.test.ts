import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const bodies = 120;

/** The bounds of bodies are lifted, in place of memory that no bound knows. */
describe('a hub whose heap is nearly full', () => {
  let hub: SpawnedHub;
  let silent: Server;
  const sockets = new Set<Socket>();
  const agent = new Agent({ maxSockets: bodies });

  beforeAll(async () => {
    silent = createServer((socket) => sockets.add(socket.on('error', () => {})));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    hub = await spawnHub({
      NODE_OPTIONS: '--max-old-space-size=96',
      DATAHUB_BODIES_BYTES_MAX: String(4 * 2 ** 30),
      DATAHUB_KEY_BODIES_BYTES_MAX: String(4 * 2 ** 30),
      DATAHUB_SOURCES_LOOPBACK: '1',
    });
  });
  afterAll(async () => {
    agent.destroy();
    await hub?.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('refuses calls, keeps those that it has, and takes calls again once they have ended', async () => {
    const { api, url, key } = hub;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'full' }));
    const { port } = silent.address() as AddressInfo;
    const connectionSettings = { host: '127.0.0.1', port, database: 'd', user: 'u', password: 'p' };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const context = { unused: Array.from({ length: 70_000 }, (_, i) => `x${i}`) };
    const body = JSON.stringify({ queryId, context });
    const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
    const execute = async (): Promise<string> => {
      const call = request(`${url}/v1/queries/execute`, { method: 'POST', headers, agent });
      const [answer] = await Promise.all([once(call, 'response'), call.end(body)]);
      const parts = await answer[0].toArray();
      const { code, detail } = JSON.parse(Buffer.concat(parts).toString());
      return code === 'UNAVAILABLE' ? detail : code;
    };
    // Who is refused while the body is on its way can lose the answer.
    const answers = await Promise.all(Array.from({ length: bodies }, () => execute().catch(() => 'lost')));
    const refused = 'The hub has hardly any memory left. Try again later.';
    expect(new Set(answers)).toContain(refused);
    // The others waited for the source.
    expect(answers.filter((answer) => answer.startsWith('SOURCE_')).length).toBeGreaterThan(5);
    await expect.poll(async () => (await api.get('/v1/hubs')).status, { timeout: 20_000 }).toBe(200);
  }, 90_000);
});
