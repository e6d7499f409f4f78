/** Each way in which a write can end: its answer, what the log says, and what a repetition with its key does. */

import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Answer, type Api, createApi } from '../support/api.ts';
import {
  accessOf,
  createTestDatabases,
  type DatabaseAccess,
  type TestDatabases,
} from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';
import { watch } from '../support/watcher.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';
import { type Operator, openOperator } from './support/operator.ts';

const { MONGODB_URL } = process.env;
const variables = { postgres: 'POSTGRES_URL', mysql: 'MYSQL_URL', mariadb: 'MARIADB_URL' };
const mark = `ends_${randomBytes(4).toString('hex')}`;
const mongodb = `ends_${randomBytes(4).toString('hex')}`;

let dir: string;
let logFile: string;
let log: FileHandle;
let hub: DistributedHub;
const key = `test-key-${randomBytes(24).toString('hex')}`;
let api: Api;
let databases: TestDatabases;
let hubId: string;

beforeAll(async () => {
  databases = await createTestDatabases(process.env);
  dir = await mkdtemp(join(tmpdir(), 'datahub-ends-'));
  logFile = join(dir, 'log');
  const settings = {
    ...hubSettings(dir, key),
    DATAHUB_EDGE: 'none',
    DATAHUB_LOG_LEVEL: 'info',
    DATAHUB_LOG_FORMAT: 'json',
    DATAHUB_DRAIN_MS: '3000',
    DATAHUB_REQUEST_TIMEOUT_MS: '10000',
  };
  log = await open(logFile, 'w');
  hub = await startDistributed(settings, log.fd);
  api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'ends' })));
});
afterAll(async () => {
  await hub?.close();
  await databases?.close();
  await log?.close();
  await rm(dir, { recursive: true, force: true });
});

interface Bench {
  network: FaultyNetwork;
  sourceId: string;
  /** The query; `label` names it for the network, which sees its values. */
  insert: string;
  rows(id: number): Promise<number>;
}

async function openBench(engine: string, access: DatabaseAccess): Promise<Bench> {
  const network = await startNetwork(access);
  const add = async (at: object, command: string, query: string) => {
    const connectionSettings = { ...access, tls: { mode: 'disable' }, ...at, pool: { max: 2 } };
    const { sourceId } = await api.ok(
      api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings }),
    );
    const saved = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', command, query }));
    return { sourceId, queryId: saved.config.query.queryId as string };
  };
  const isMongodb = engine === 'mongodb';
  const text = isMongodb
    ? `{"insert": "scratch", "documents": [{"_id": ":id", "label": ":label"}]}`
    : `INSERT INTO scratch /* ${mark} */ (id, label) VALUES (:id, :label)`;
  const count = isMongodb
    ? '{"count": "scratch", "query": {"_id": ":id"}}'
    : 'SELECT COUNT(*) AS n FROM scratch WHERE id = :id';
  const at = { host: '127.0.0.1', port: network.port };
  const { sourceId, queryId } = await add(at, 'INSERT', text);
  const counter = await add({}, isMongodb ? 'COUNT' : 'SELECT', count);
  return {
    network,
    sourceId,
    insert: queryId,
    rows: async (id) =>
      Number(
        Object.values(
          (await api.ok(api.post('/v1/queries/execute', { queryId: counter.queryId, context: { id } })))
            .data[0],
        )[0],
      ),
  };
}

let lastId = 1_000;
interface Sent {
  id: number;
  label: string;
  send(): Promise<Answer>;
}

/** A write with an id and a key of its own. */
function newWrite({ insert: queryId }: Bench, options: object = {}): Sent {
  const id = ++lastId;
  const label = `${mark}-${id}`;
  const headers = { 'idempotency-key': label };
  const body = { queryId, context: { id, label }, options };
  return { id, label, send: () => api.post('/v1/queries/execute', body, { headers }) };
}

const untilServed = (bench: Bench) =>
  expect.poll(async () => (await newWrite(bench).send()).status, { timeout: 60_000 }).toBe(200);

const toldOf = ({ status, body }: Answer) => [status, body?.code, body?.retryable];
const unknown = [503, 'OUTCOME_UNKNOWN', false];

/** The events of the log about an answer: their names and codes. */
async function logged({ headers }: Answer): Promise<string[]> {
  const requestId = headers.get('x-request-id');
  const lines = (await readFile(logFile, 'utf8'))
    .split('\n')
    .filter((line) => line.includes(`"${requestId}"`));
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event !== 'http.request')
    .map(({ event, code }) => `${event} ${code}`)
    .sort();
}
const failedWith = (code: string) => [`execution.failed ${code}`, `http.problem ${code}`];

/** The repetition is refused, at first as one of a request that still runs, and the row was written at most once. */
async function expectClosed(write: Sent, bench: Bench, isRunning?: true): Promise<void> {
  const again = await write.send();
  expect(toldOf(again)).toEqual([409, 'IDEMPOTENCY_CONFLICT', isRunning]);
  expect(await bench.rows(write.id)).toBeLessThanOrEqual(1);
}

/** The write had no effect, and the repetition runs. */
async function expectFree(write: Sent, bench: Bench): Promise<void> {
  expect(await bench.rows(write.id)).toBe(0);
  const again = async () => (await write.send()).status;
  await expect.poll(again, { timeout: 20_000 }).toBe(200);
  expect(await bench.rows(write.id)).toBe(1);
}

/** The repetition gets the first answer. */
async function expectKept(write: Sent, bench: Bench): Promise<void> {
  const again = await write.send();
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  expect(await bench.rows(write.id)).toBe(1);
}

const engines = [...Object.keys(variables), 'mongodb'].filter(
  (engine) => process.env[engine === 'mongodb' ? 'MONGODB_URL' : variables[engine as keyof typeof variables]],
);
const accessFor = (engine: string): DatabaseAccess =>
  engine === 'mongodb'
    ? { ...accessOf(MONGODB_URL as string), database: mongodb }
    : (databases.access[engine] as DatabaseAccess);

describe.each(engines)('a write at %s', (engine) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(engine, accessFor(engine));
  });
  afterAll(() => bench?.network.close());

  it('that succeeds', async () => {
    const write = newWrite(bench);
    expect((await write.send()).status).toBe(200);
    await expectKept(write, bench);
  });

  it('that is rejected', async () => {
    const [first, second] = [newWrite(bench), newWrite(bench)];
    await first.send();
    const { insert: queryId } = bench;
    const headers = { 'idempotency-key': second.label };
    const body = { queryId, context: { id: first.id, label: 'second' } };
    for (let tries = 0; tries < 2; tries++) {
      const answer = await api.post('/v1/queries/execute', body, { headers });
      expect(toldOf(answer)).toEqual([409, 'CONSTRAINT', false]);
      await expect.poll(() => logged(answer)).toEqual(['execution.failed CONSTRAINT']);
    }
  });

  /** With an Idempotency-Key, PostgreSQL is sent COMMIT only after the statement's answer: nothing was changed. */
  const expectLost = async (answer: Answer, write: Sent) => {
    const isOpen = engine === 'postgres';
    expect(toldOf(answer)).toEqual(isOpen ? [502, 'SOURCE_UNREACHABLE', true] : unknown);
    const code = isOpen ? 'SOURCE_UNREACHABLE' : 'OUTCOME_UNKNOWN';
    await expect.poll(() => logged(answer)).toEqual(failedWith(code));
    await (isOpen ? expectFree : expectClosed)(write, bench);
  };

  it('whose answer is lost', async () => {
    const write = newWrite(bench);
    bench.network.fault = { resetInAnswerTo: write.label };
    const answer = await write.send();
    bench.network.fault = 'none';
    await expectLost(answer, write);
  });

  it('that takes too long, and whose cancel is not confirmed', async () => {
    await untilServed(bench);
    const write = newWrite(bench, { timeoutMs: 300 });
    bench.network.fault = { noAnswersTo: write.label };
    const answer = await write.send();
    bench.network.fault = 'none';
    await expectLost(answer, write);
  });

  it('that finds no connection', async () => {
    const write = newWrite(bench);
    bench.network.fault = 'reset';
    const answer = await write.send();
    bench.network.fault = 'none';
    const { code } = answer.body;
    expect(toldOf(answer)).toEqual([
      expect.toBeOneOf([502, 503]),
      expect.toBeOneOf(['SOURCE_UNREACHABLE', 'SOURCE_BUSY']),
      true,
    ]);
    await expect.poll(() => logged(answer)).toEqual(failedWith(code));
    await expectFree(write, bench);
  });
});

describe.each(engines.filter((engine) => engine !== 'mongodb'))(
  'a write in a transaction at %s',
  (engine) => {
    let bench: Bench;
    let operator: Operator;
    beforeAll(async () => {
      bench = await openBench(engine, accessFor(engine));
      operator = await openOperator(engine, accessFor(engine));
    });
    afterAll(async () => {
      await operator?.close();
      bench?.network.close();
    });

    it('that is stopped, which the database confirms', async () => {
      const write = newWrite(bench, { timeoutMs: 300 });
      await operator.hold(write.id);
      const answer = await write.send();
      await operator.release();
      expect([answer.status, answer.body.code]).toEqual([504, 'STATEMENT_TIMEOUT']);
      await expect.poll(() => logged(answer)).toEqual(failedWith('STATEMENT_TIMEOUT'));
      await expectFree(write, bench);
    });

    it('whose connection falls silent before it is sent runs on another one', async () => {
      const { sourceId } = bench;
      const read = () => api.post('/v1/queries/try', { sourceId, query: 'SELECT 1 AS one' });
      expect((await read()).status).toBe(200);
      // The next bytes, and all that follow on the connections that there are, do not arrive.
      const silence = () => {
        bench.network.fault = { cutIn: 'requests', afterBytes: 0, how: 'silence' };
      };
      silence();
      expect((await read()).status).toBe(200);
      // The connection is new, so the statement has to be prepared first.
      silence();
      const write = newWrite(bench);
      expect((await write.send()).status).toBe(200);
      await expectKept(write, bench);
      // Now it is sent at once. MariaDB's sessions are reset after a write, and lose what was prepared. At PostgreSQL
      // nothing is committed before the statement was answered, which the hub may learn too late to try again.
      silence();
      const sent = newWrite(bench);
      const answer = await sent.send();
      if (engine === 'mariadb') return expect(answer.status).toBe(200);
      if (engine === 'postgres' && answer.status === 200) return expectKept(sent, bench);
      // Or it could not connect again in time. Nothing was written then, and it says so.
      if (engine === 'postgres' && answer.status === 502) expect(answer.body.retryable).toBe(true);
      else expect(toldOf(answer)).toEqual(unknown);
      await (engine === 'postgres' ? expectFree : expectClosed)(sent, bench);
    });
  },
);

describe.skipIf(process.env.POSTGRES_URL === undefined)('a write that runs (needs POSTGRES_URL)', () => {
  let bench: Bench;
  let operator: Operator;
  let watcher: Awaited<ReturnType<typeof watch>>;
  beforeAll(async () => {
    const access = accessFor('postgres');
    bench = await openBench('postgres', access);
    operator = await openOperator('postgres', access);
    watcher = await watch('postgres', access);
  });
  afterAll(async () => {
    await watcher?.close();
    await operator?.close();
    bench?.network.close();
  });

  /** A write that waits in the database. */
  const begin = async () => {
    await untilServed(bench);
    const write = newWrite(bench);
    await operator.hold(write.id);
    const answer = write.send();
    answer.catch(() => {});
    await expect.poll(() => watcher.running(mark)).toBe(1);
    return { write, answer };
  };

  it('whose client disconnects is cancelled', async () => {
    const write = newWrite(bench);
    await operator.hold(write.id);
    const leaving = new AbortController();
    const { id, label } = write;
    const sent = fetch(`http://127.0.0.1:${hub.port}/v1/queries/execute`, {
      method: 'POST',
      headers: { 'x-service-api-key': key, 'content-type': 'application/json', 'idempotency-key': label },
      body: JSON.stringify({ queryId: bench.insert, context: { id, label }, options: {} }),
      signal: leaving.signal,
    }).catch(() => undefined);
    await expect.poll(() => watcher.running(mark)).toBe(1);
    leaving.abort();
    await sent;
    await expect.poll(() => watcher.running(mark)).toBe(0);
    await operator.release();
    // It was not committed before its answer, so the key is free.
    await expectFree(write, bench);
  });

  it('while its executor stops ends', async () => {
    const { write, answer } = await begin();
    const restarted = hub.restart('executor', 0, 'SIGTERM');
    await expect.poll(() => readFile(logFile, 'utf8')).toContain('service.stopping');
    await operator.release();
    expect((await answer).status).toBe(200);
    await restarted;
    await untilServed(bench);
    await expectKept(write, bench);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('when its executor ends by %s', async (signal) => {
    const { write, answer } = await begin();
    const restarted = hub.restart('executor', 0, signal);
    const told = await answer;
    await operator.release();
    await restarted;
    expect(toldOf(told)).toEqual(unknown);
    await expect.poll(() => logged(told)).toContain('http.problem OUTCOME_UNKNOWN');
    await untilServed(bench);
    // The executor had noted no COMMIT.
    await expectFree(write, bench);
  });

  it('when its gateway is killed', async () => {
    const { write, answer } = await begin();
    await hub.restart('gateway', 0, 'SIGKILL');
    await expect(answer).rejects.toThrow();
    await operator.release();
    await untilServed(bench);
    await expectClosed(write, bench, true);
  });

  it('is rolled back while the catalog is away, which was there when it began', async () => {
    const { write, answer } = await begin();
    const catalog = hub.pidOf('catalog', 0);
    process.kill(catalog, 'SIGSTOP');
    await operator.release();
    const told = await answer;
    process.kill(catalog, 'SIGCONT');
    expect(toldOf(told)).toEqual([503, 'UNAVAILABLE', true]);
    expect(await bench.rows(write.id)).toBe(0);
    await expect.poll(async () => (await write.send()).status, { timeout: 60_000 }).toBe(200);
    expect(await bench.rows(write.id)).toBe(1);
  });

  it('only once the catalog is back, if it has a key', async () => {
    const write = newWrite(bench);
    const catalog = hub.pidOf('catalog', 0);
    process.kill(catalog, 'SIGSTOP');
    const answer = await write.send();
    process.kill(catalog, 'SIGCONT');
    expect([answer.status, answer.body.code]).toEqual([503, 'UNAVAILABLE']);
    await expect.poll(() => logged(answer)).toEqual(['http.problem UNAVAILABLE']);
    await expect.poll(async () => (await write.send()).status).toBe(200);
    expect(await bench.rows(write.id)).toBe(1);
  });
});
