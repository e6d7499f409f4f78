import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { accessOf } from '../support/databases.ts';
import { api, createSource, database, engines } from '../support/hub.ts';
import { read } from '../support/streaming.ts';
import { type Watcher, watch } from '../support/watcher.ts';

interface Partial {
  status: number;
  text: string;
  complete: boolean;
}

/** Runs a query over a socket of its own and calls back once the first bytes are there. */
function stream(queryId: string, accept: string, onFirst: (leave: () => void) => void): Promise<Partial> {
  const { url, key } = inject('hub');
  return new Promise((resolve) => {
    const body = JSON.stringify({ queryId });
    const headers = {
      'x-service-api-key': key,
      'content-type': 'application/json',
      accept,
      'content-length': body.length,
    };
    const call = request(
      `${url}/v1/queries/execute`,
      { method: 'POST', agent: false, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.once('data', () => onFirst(() => call.destroy()));
        response.on('data', (chunk) => {
          text = (text + chunk).slice(-200);
        });
        response.on('error', () => {});
        response.on('close', () =>
          resolve({ status: response.statusCode ?? 0, text, complete: response.complete }),
        );
      },
    );
    call.on('error', () => {});
    call.end(body);
  });
}

const five = "JSON_TABLE(CONCAT('[0', REPEAT(',0', 4999), ']'), '$[*]'";
/** Some 20 million of them. */
const rows: Record<string, string> = {
  postgres: 'generate_series(1, 5000) AS s(n), generate_series(1, 5000) AS t(m)',
  mariadb: '(SELECT seq AS n FROM seq_1_to_20000000) AS s',
  mysql: `${five} COLUMNS (n FOR ORDINALITY)) AS s, ${five} COLUMNS (m FOR ORDINALITY)) AS t`,
};

/** Longer than the answer takes on a busy machine, and shorter than the pause of its reader. */
const slowMs = { timeout: 15_000, pause: 16_000 };

describe('a client that reads slowly', () => {
  it('gets the whole answer, because the timeout of the statement stands still meanwhile', {
    timeout: 120_000,
  }, async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'slow readers' }));
    const ids = engines.map(async (engine) => {
      const sourceId = await createSource(hubId, engine);
      const few = { ...rows, postgres: 'generate_series(1, 120000) AS s(n)' }[engine];
      const query = `SELECT n, '${'x'.repeat(90)}' AS filler FROM ${few} LIMIT 120000`;
      return (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: engine, query }))).config.query
        .queryId;
    });
    const queryIds = await Promise.all([...ids, ...(await storeOnMongodb(hubId))]);
    const options = { timeoutMs: slowMs.timeout };
    const readers = queryIds.map((queryId) => read(inject('hub'), { queryId, accept: 'text/csv', options }));
    await Promise.all(readers.map(({ begun }) => begun));
    await wait(slowMs.pause);
    for (const reader of readers) reader.resume();
    const answers = await Promise.all(readers.map(({ ended }) => ended));
    const names = [...engines, 'mongodb'];
    const whole = answers.map(({ complete, text }, i) => [names[i], complete, text.length > 11_000_000]);
    expect(whole).toEqual(answers.map((_, i) => [names[i], true, true]));
  });
});

/** A query of 12 MB, if there is a server. */
async function storeOnMongodb(hubId: string): Promise<Promise<string>[]> {
  const { MONGODB_URL } = process.env;
  if (MONGODB_URL === undefined) return [];
  const database = `e2e_slow_${randomBytes(4).toString('hex')}`;
  const client = await new MongoClient(MONGODB_URL).connect();
  onTestFinished(async () => {
    await client.db(database).dropDatabase();
    await client.close();
  });
  const docs = Array.from({ length: 120 }, (_, n) => ({ n, filler: 'x'.repeat(100_000) }));
  await client.db(database).collection('rows').insertMany(docs);
  const connectionSettings = { ...accessOf(MONGODB_URL), database };
  const source = { hubId, label: 'mongodb', engine: 'mongodb', connectionSettings };
  const { sourceId } = await api.ok(api.post('/v1/sources', source));
  const query = JSON.stringify({ find: 'rows', filter: {} });
  const stored = api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'mongodb', query }));
  return [stored.then(({ config }) => config.query.queryId)];
}

describe.each(engines)('a long answer from %s', (engine) => {
  let watcher: Watcher;
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    watcher = await watch(engine, database(engine));
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'streams' })));
    sourceId = await createSource(hubId, engine);
  });
  afterAll(() => watcher.close());

  const store = async (mark: string) => {
    const query = `SELECT /* ${mark} */ n, '${mark}' AS mark, 'some more text to fill the line' AS filler FROM ${rows[engine]}`;
    return (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: mark, query }))).config.query
      .queryId;
  };

  it('ends at the database when its reader leaves', async () => {
    for (let i = 0; i < 5; i++) {
      const mark = `leaving_${engine}_${i}`;
      const queryId = await store(mark);
      const partial = await stream(queryId, 'application/json', (leave) => setTimeout(leave, i * 20));
      expect(partial.complete).toBe(false);
      await expect.poll(() => watcher.running(mark), { timeout: 15_000, interval: 50 }).toBe(0);
    }
  });

  it.each(['application/json', 'application/x-ndjson', 'text/csv'])(
    'as %s never looks complete when the database breaks off',
    async (accept) => {
      const mark = `breaking_${engine}_${accept.replace(/\W/g, '_')}`;
      const queryId = await store(mark);
      const { status, text, complete } = await stream(queryId, accept, () => {
        setTimeout(() => watcher.kill(mark), 50);
      });
      expect([status, complete]).toEqual([200, false]);
      expect(text).not.toMatch(/\]\}\s*$/);
      expect((await api.post(`/v1/sources/${sourceId}/test`)).body.ok).toBe(true);
    },
  );

  it.each(['application/x-ndjson', 'text/csv'])(
    'as %s over HTTP/1.0 ends with a reset when the database breaks off, because an ordinary end would look like that of the rows',
    async (accept) => {
      const mark = `resetting_${engine}_${accept.replace(/\W/g, '_')}`;
      const body = JSON.stringify({ queryId: await store(mark) });
      const { url, key } = inject('hub');
      const { hostname, port } = new URL(url);
      const fields = `x-service-api-key: ${key}\r\ncontent-type: application/json\r\naccept: ${accept}`;
      const head = `POST /v1/queries/execute HTTP/1.0\r\n${fields}\r\ncontent-length: ${body.length}\r\n\r\n`;
      const socket = connect(Number(port), hostname, () => socket.write(head + body));
      socket.once('data', () => setTimeout(() => watcher.kill(mark), 50));
      socket.resume();
      const [err] = await once(socket, 'error');
      expect(err.code).toBe('ECONNRESET');
    },
  );

  it('that waits in the database stops when its client disconnects', async () => {
    const mark = `waiting_${engine}`;
    const sleep = engine === 'postgres' ? 'pg_sleep(30)' : 'SLEEP(30)';
    const query = `SELECT /* ${mark} */ ${sleep}`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: mark, query }));
    const controller = new AbortController();
    const { url, key } = inject('hub');
    const call = fetch(`${url}/v1/queries/execute`, {
      method: 'POST',
      signal: controller.signal,
      headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ queryId: stored.config.query.queryId }),
    }).catch(() => undefined);
    await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 20 }).toBe(1);
    controller.abort();
    await call;
    await expect.poll(() => watcher.running(mark), { timeout: 15_000, interval: 20 }).toBe(0);
  });
});
