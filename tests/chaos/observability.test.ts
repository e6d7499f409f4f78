import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPrometheus } from '../../tools/databases/prometheus.ts';
import { type ObservedHub, startObservedHub } from '../support/observed-hub.ts';
import { dashboard, exprOf, type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { spawnHub } from '../support/spawned.ts';
import { startNetwork } from './support/network.ts';
import { hasSmallDisks, openSmallDisk } from './support/small-disk.ts';

const programs = await findPrometheus({ say: (line) => process.stderr.write(`${line}\n`) });
const databaseUrl = process.env.POSTGRES_URL;
/** An hour is 24 seconds. */
const shortened = 150;
const scrapeMs = 400;
/** Longer than the hub waits for a store that does not answer. */
const storeScrapeMs = 3_000;
const quietMinutes = 30;
const alertTimeoutMs = 60_000;
/** Exported once the hub describes queries again by itself, with mutual TLS, and while there are several sealing keys. */
const absent = /datahub_queries_broken|datahub_certificate_not_after_seconds|datahub_sealed_secrets/;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(isMet: () => Promise<boolean>, what: () => string): Promise<void> {
  const deadline = Date.now() + alertTimeoutMs;
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(what());
    await sleep(scrapeMs);
  }
}
const untilFiring = (prometheus: Prometheus, ...names: string[]) => {
  let firing: string[] = [];
  return until(
    async () => {
      firing = await prometheus.firing();
      return names.every((name) => firing.includes(name));
    },
    () => `${names} should fire; ${firing} does.`,
  );
};

describe.skipIf(programs === undefined || databaseUrl === undefined)('Prometheus and a hub', () => {
  let observed: ObservedHub;
  let prometheus: Prometheus;
  let traffic: { stop(): Promise<void> };

  beforeAll(async () => {
    observed = await startObservedHub(databaseUrl as string, {
      DATAHUB_CONNECTIONS_MAX: '16',
      DATAHUB_POOL_WAIT_MS: '300',
      DATAHUB_CONNECT_TIMEOUT_MS: '250',
    });
    traffic = observed.startTraffic();
    await sleep(2_000);
    const { jobs } = observed;
    prometheus = await startPrometheus({
      program: programs?.prometheus as string,
      jobs,
      shortened,
      scrapeMs,
    });
  });
  afterAll(async () => {
    await traffic?.stop();
    await prometheus?.close();
    await observed?.close();
  });

  it(`are silent for ${quietMinutes} quiet minutes, in which each panel has data`, async () => {
    await sleep((quietMinutes * 60_000) / shortened);
    const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr: exprOf(expr, '5s') })),
    );
    expect(queries.length).toBeGreaterThan(30);
    const empty: string[] = [];
    for (const { title, expr } of queries.filter((one) => !absent.test(one.expr))) {
      const samples = await prometheus.query(expr);
      if (!samples.some(({ value }) => Number.isFinite(value))) empty.push(`${title}: ${expr}`);
    }
    expect(empty).toEqual([]);
    // The hub is slow if other programs use the machine, and then these alerts are right.
    // Prometheus itself begins to scrape after five seconds, which are minutes of its shortened clock.
    const atStart = 'DatahubGone';
    const fired = await prometheus.fired();
    expect(fired.filter((name) => !name.startsWith('DatahubSlow') && name !== atStart)).toEqual([]);
    expect(await prometheus.firing()).not.toContain(atStart);
  });

  it('report a source that cannot be reached, and no failure of the hub', async () => {
    const queryId = await observed.store(await observed.addSource(await freePort()), 'SELECT 1');
    let stopped = false;
    const calling = (async () => {
      while (!stopped) {
        await observed.api.post('/v1/queries/execute', { queryId });
        await sleep(20);
      }
    })();
    try {
      await untilFiring(prometheus, 'DatahubSourceDown');
      await sleep(3_000);
      expect((await prometheus.fired()).filter((name) => name.startsWith('DatahubFailing'))).toEqual([]);
    } finally {
      stopped = true;
      await calling;
    }
  });

  it('report used-up connections, waiting executions and refused ones', async () => {
    const queryId = await observed.store(await observed.addSource(), 'SELECT pg_sleep(0.2)');
    let stopped = false;
    const callers = Array.from({ length: 32 }, async () => {
      while (!stopped) {
        await observed.api.post('/v1/queries/execute', { queryId });
        await sleep(5);
      }
    });
    try {
      await untilFiring(prometheus, 'DatahubPoolFull', 'DatahubQueueWaiting', 'DatahubQueueRefusing');
    } finally {
      stopped = true;
      await Promise.all(callers);
    }
  });

  it('report an executor that stalls', async () => {
    const pid = observed.hub.pidOf('executor', 0);
    let stopped = false;
    const stalling = (async () => {
      while (!stopped) {
        process.kill(pid, 'SIGSTOP');
        await sleep(120);
        process.kill(pid, 'SIGCONT');
        await sleep(30);
      }
    })();
    try {
      await untilFiring(prometheus, 'DatahubSlowFast', 'DatahubSlowSlowly');
    } finally {
      stopped = true;
      await stalling;
    }
  });

  it('report a killed catalog, and the requests that fail without it', async () => {
    process.kill(observed.hub.pidOf('catalog', 0), 'SIGKILL');
    await untilFiring(prometheus, 'DatahubDown', 'DatahubFailingFast', 'DatahubFailingSlowly');
  });
});

/** A hub in one process, and a Prometheus that has seen its stores work. */
async function startPair(settings: Record<string, string>, everyMs = scrapeMs) {
  const port = await freePort();
  const hub = await spawnHub({ DATAHUB_METRICS_PORT: String(port), ...settings });
  const program = programs?.prometheus as string;
  const prometheus = await startPrometheus({
    program,
    jobs: { 'data-hub': [port] },
    shortened,
    scrapeMs: everyMs,
  });
  await until(
    async () => (await prometheus.query('datahub_store_up == 1')).length === 2,
    () => 'Both stores should work.',
  );
  const close = async () => {
    await prometheus.close();
    await hub.close();
  };
  return { prometheus, close };
}

describe.skipIf(programs === undefined || !hasSmallDisks)('a full disk (needs root, to mount one)', () => {
  it('is reported', async () => {
    const disk = openSmallDisk(8);
    const { prometheus, close } = await startPair({ DATAHUB_DATA_DIR: disk.path });
    try {
      expect(await prometheus.firing()).not.toContain('DatahubDiskFull');
      disk.fill();
      await untilFiring(prometheus, 'DatahubDiskFull');
    } finally {
      await close();
      disk.close();
    }
  });
});

const storeUrl = process.env.MONGODB_URL;
describe.skipIf(programs === undefined || storeUrl === undefined)('a store that does not answer', () => {
  it('is reported', async () => {
    const { hostname, port } = new URL(storeUrl as string);
    const network = await startNetwork({ host: hostname, port: Number(port || 27017) });
    const name = `observability_${process.pid}`;
    const { prometheus, close } = await startPair(
      { DATAHUB_STORE_URL: `mongodb://127.0.0.1:${network.port}/${name}` },
      storeScrapeMs,
    );
    try {
      expect(await prometheus.firing()).not.toContain('DatahubStoreDown');
      network.fault = 'silence';
      await untilFiring(prometheus, 'DatahubStoreDown');
    } finally {
      network.fault = 'none';
      await close();
      network.close();
    }
  });
});
