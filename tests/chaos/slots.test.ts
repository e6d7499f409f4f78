import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';
import { watchSessions } from './support/sessions.ts';

const { POSTGRES_URL } = process.env;
const executors = 3;
const callers = 60;
const poolMax = 10;
const leaseMs = 6_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(POSTGRES_URL === undefined)('one budget for one database (needs POSTGRES_URL)', () => {
  const url = POSTGRES_URL as string;
  const database = `slots_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(url);
  let dir: string;
  let hub: DistributedHub;
  let api: Api;
  let queryId: string;
  let sessions: Awaited<ReturnType<typeof watchSessions>>;
  let calling = true;
  let running: Promise<unknown>;
  const answers = new Map<string, number>();

  const call = async () => {
    while (calling) {
      const { status, body } = await api.post('/v1/queries/execute', { queryId });
      const name = status === 200 ? 'ok' : `${status} ${body.code}`;
      answers.set(name, (answers.get(name) ?? 0) + 1);
      if (status !== 200) await sleep(100);
    }
  };
  /** Resolves when all executors together use the whole budget, `times` looks after now. */
  const untilFull = (times = 20) => {
    const from = sessions.seen.looks;
    const isFull = () => sessions.seen.looks - from >= times && sessions.seen.now === poolMax;
    return expect.poll(isFull, { timeout: 60_000, interval: 5 }).toBe(true);
  };

  beforeAll(async () => {
    await admin.connect();
    await admin.query(`CREATE DATABASE ${database}`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-slots-'));
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    hub = await startDistributed(
      {
        ...hubSettings(dir, key),
        DATAHUB_EDGE: 'none',
        DATAHUB_SLOT_LEASE_MS: String(leaseMs),
      },
      'ignore',
      { replicas: { executor: executors } },
    );
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'slots' }));
    const connectionSettings = { ...accessOf(url), database, pool: { max: poolMax } };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT pg_sleep(0.1)' };
    queryId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
    sessions = await watchSessions(url, database);
    running = Promise.all(Array.from({ length: callers }, call));
  });
  afterAll(async () => {
    calling = false;
    await running;
    await hub?.close();
    await sessions?.close();
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
    await rm(dir, { recursive: true, force: true });
  });

  beforeEach(() => {
    sessions.seen.most = 0;
  });

  it('holds while all executors are restarted one after the other', async () => {
    await untilFull();
    for (let i = 0; i < executors; i++) {
      await hub.restart('executor', i);
      await untilFull();
    }
    expect(sessions.seen.most).toBe(poolMax);
  });

  it('holds when an executor is killed, whose slots are used again', async () => {
    await hub.restart('executor', 0, 'SIGKILL');
    await untilFull();
    expect(sessions.seen.most).toBe(poolMax);
  });

  it('holds when an executor sleeps for longer than its lease, and when it wakes', async () => {
    const pid = hub.pidOf('executor', 1);
    process.kill(pid, 'SIGSTOP');
    try {
      await sleep(leaseMs);
      await untilFull();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await untilFull(200);
    expect(sessions.seen.most).toBe(poolMax);
  });

  it('holds when the catalog is killed, and executions go on meanwhile', async () => {
    const before = answers.get('ok') ?? 0;
    const restarted = hub.restart('catalog', 0, 'SIGKILL');
    await expect.poll(() => answers.get('ok') ?? 0, { timeout: 60_000 }).toBeGreaterThan(before + 100);
    await restarted;
    await untilFull();
    expect(sessions.seen.most).toBe(poolMax);
    expect([...answers.keys()].filter((name) => !/^(ok|50[0-4] .*)$/.test(name))).toEqual([]);
  });
});
