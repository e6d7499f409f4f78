import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabases, type TestDatabases } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const { POSTGRES_URL } = process.env;
const isLinux = process.platform === 'linux';
const waitMs = 2_000;
const statementMs = 4_000;
const waitingMax = 400;

interface Answer {
  status: number;
  ms: number;
  text: string;
}

/** The memory of a process that is not shared with others, in MiB. */
function memoryOf(pid: number): number {
  const [, kib = '0'] = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}

describe.skipIf(POSTGRES_URL === undefined || !isLinux)(
  'executions that wait for a source (needs POSTGRES_URL, Linux)',
  () => {
    let databases: TestDatabases;
    let hub: SpawnedHub;
    let network: FaultyNetwork;
    let queryId: string;
    // Below the 511 connections that Node lets a stopped process have in its backlog: beyond, the client would fail.
    const agent = new Agent({ keepAlive: true, maxSockets: 400 });

    beforeAll(async () => {
      databases = await createTestDatabases({ POSTGRES_URL });
      const { host, port, ...access } = databases.access.postgres as { host: string; port: number };
      network = await startNetwork({ host, port });
      hub = await spawnHub({
        // For machines that others share: there the pace of a source is that of the machine.
        DATAHUB_POOL_WAIT_MS: '15000',
      });
      queryId = await queryAt(hub, { host, port, ...access });
    });
    afterEach(() => {
      network.fault = 'none';
    });
    afterAll(async () => {
      agent.destroy();
      network.close();
      await hub.close();
      await databases.close();
    });

    async function queryAt({ api }: SpawnedHub, connectionSettings: object): Promise<string> {
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'waiting' }));
      const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const query = 'SELECT 1 AS one, :filler AS filler';
      const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
      return stored.config.query.queryId;
    }

    function execute(at: SpawnedHub, id: string, filler = 'x'): Promise<Answer> {
      const body = JSON.stringify({ queryId: id, context: { filler } });
      const headers = { 'x-service-api-key': at.key, 'content-type': 'application/json' };
      const startedAt = performance.now();
      return new Promise((resolve, reject) => {
        const call = request(`${at.url}/v1/queries/execute`, { method: 'POST', headers, agent });
        call.on('error', reject);
        call.on('response', (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part) => {
            text += part;
          });
          response.on('error', reject);
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedAt, text });
          });
        });
        call.end(body);
      });
    }

    /** Executions per second with this many at a time, for this long. */
    async function rateOf(inFlight: number, ms: number): Promise<number> {
      const endsAt = performance.now() + ms;
      let count = 0;
      const worker = async () => {
        for (; performance.now() < endsAt; count++) await execute(hub, queryId);
      };
      await Promise.all(Array.from({ length: inFlight }, worker));
      return (count * 1_000) / ms;
    }

    /** Sends at a rate whether the answers come or not. */
    async function sendAt(perSecond: number, ms: number): Promise<Answer[]> {
      const running: Promise<Answer>[] = [];
      const startedAt = performance.now();
      while (performance.now() - startedAt < ms) {
        const due = ((performance.now() - startedAt) * perSecond) / 1_000;
        while (running.length < due) running.push(execute(hub, queryId));
        await sleep(2);
      }
      return Promise.all(running);
    }

    it('are all answered when the process is stopped for half a second under half of its highest load', async () => {
      await rateOf(300, 3_000);
      const half = (await rateOf(32, 2_000)) / 2;
      for (let round = 0; round < scaled(3, 20); round++) {
        const sending = sendAt(half, 2_000);
        await sleep(700);
        process.kill(hub.pid, 'SIGSTOP');
        await sleep(100);
        // On a slow machine half of the load is too little to make many wait.
        const crowd = Array.from({ length: 200 }, () => execute(hub, queryId));
        await sleep(400);
        process.kill(hub.pid, 'SIGCONT');
        const answers = [...(await sending), ...(await Promise.all(crowd))];
        const failed = answers.filter(({ status }) => status !== 200);
        const slowest = Math.max(...answers.map(({ ms }) => ms));
        process.stdout.write(
          `stopped for 500 ms at ${Math.round(half)}/s: ${answers.length} answers, ${failed.length} failed, slowest ${Math.round(slowest)} ms\n`,
        );
        // Without this the pause met no load.
        expect(slowest).toBeGreaterThan(400);
        expect(failed.slice(0, 3)).toEqual([]);
      }
    });

    it('of a source that hangs are answered within the wait, up to a limit, and take little memory', async () => {
      const limited = await spawnHub({
        DATAHUB_POOL_WAIT_MS: String(waitMs),
        DATAHUB_CONNECT_TIMEOUT_MS: '1500',
        DATAHUB_STATEMENT_TIMEOUT_MS: String(statementMs),
        DATAHUB_WAITING_MAX: String(waitingMax),
      });
      try {
        const { host: _, port: __, ...access } = databases.access.postgres as { host: string; port: number };
        const tls = { mode: 'disable' };
        const at = { host: '127.0.0.1', port: network.port, tls, ...access };
        const hanging = await queryAt(limited, at);
        // Opens the connections, and shows what the hub needs for as many calls of a source that works.
        const crowd = () =>
          Promise.all(Array.from({ length: 390 }, () => execute(limited, hanging, 'x'.repeat(1_000))));
        for (let i = 0; i < 10; i++) await crowd();
        const before = memoryOf(limited.pid);
        network.fault = 'silence';
        const answers: Answer[] = [];
        for (const endsAt = performance.now() + 2 * statementMs; performance.now() < endsAt; ) {
          answers.push(...(await crowd()));
          await sleep(100);
        }
        const grown = memoryOf(limited.pid) - before;
        const busy = answers.filter(({ status }) => status === 503);
        const atOnce = busy.filter(({ ms }) => ms < waitMs / 2);
        const slowest = Math.max(...busy.map(({ ms }) => ms));
        process.stdout.write(
          `hanging: ${answers.length} answers, ${busy.length} × 503, ${atOnce.length} of them at once, slowest ${Math.round(slowest)} ms, + ${grown.toFixed(1)} MiB\n`,
        );
        expect(answers.filter(({ status }) => status === 200)).toEqual([]);
        expect(busy.length).toBeGreaterThan(answers.length / 2);
        expect(slowest).toBeLessThan(2 * waitMs + 1_000);
        // Beyond half of the waiting places, the account's executions are rejected without a wait.
        expect(atOnce.length).toBeGreaterThan(100);
        expect(grown).toBeLessThan(64);
      } finally {
        await limited.close();
      }
    });
  },
);
