/**
 * Measures one account while another account predicts over thousands of classes, trains in large batches or requests long
 * summaries: its p99 with and without this load, and the peak memory of the service. The service runs with the heap that
 * Node chooses in a container with the memory limit of the Helm chart. Three programs share the cores, so the bench also
 * shows how much CPU the event loop of the service used during a call: its own work, and that for which the call waited.
 * `npm run bench -- ml/tenants`
 */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createGrpcClient } from '@datahub/service-kit/grpc/client';
import { freePort } from '@datahub/service-kit/process/free-port';
import { v8Flags } from '../../packages/service-kit/v8-flags.mjs';
import { cpuOf } from '../support/child.ts';
import { printHead, printRow, quantile } from '../support/table.ts';

const main = fileURLToPath(new URL('../../services/ml/src/main.ts', import.meta.url));
const seconds = Number(process.env.BENCH_SECONDS ?? 8);
const classCount = Number(process.env.BENCH_CLASSES ?? 10_000);
/** As the launcher starts it, with the heap limit that Node chooses in a container of 1 GiB. */
const flags = [...v8Flags, '--max-old-space-size=512'];
const limitMb = 1_024;
const trainTimeoutMs = 600_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const context = (accountId: string, timeoutMs = 60_000) =>
  createCallContext({ timeoutMs, principal: { accountId, keyId: 'key', scopes: ['*'], limits: undefined } });
const connect = (address: string, serviceToken: string) =>
  createGrpcClient(MlServiceService, { address, serviceToken });
type Calls = ReturnType<typeof connect>['calls'];

const sentence = (i: number) => `Ship ${i} of line ${i % 13} came late to harbour ${(i * 7_919) % 10_007}. `;
const textOf = (characters: number) => {
  let text = '';
  for (let i = 0; text.length < characters; i++) text += sentence(i);
  return text.slice(0, characters);
};
const examplesOf = (count: number, classes: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({
    label: `label ${(from + i) % classes}`,
    context: `word${(from + i) % classes} ${sentence(i)}`,
  }));
const long = textOf(4_000_000);

/** The loads: a call, and how many of it run at once. */
const loads: Record<
  string,
  { atOnce: number; call: (calls: Calls, classifierId: string) => Promise<unknown> }
> = {
  predict: {
    atOnce: 20,
    call: (calls, classifierId) =>
      calls.predict(
        { classifierId, contexts: Array.from({ length: 20 }, () => 'a'), top: 1_000 },
        context('greedy'),
      ),
  },
  train: {
    atOnce: 8,
    call: (calls, classifierId) =>
      calls.train(
        { classifierId, examples: examplesOf(2_000, 500), eventId: '' },
        context('greedy', trainTimeoutMs),
      ),
  },
  summarize: {
    atOnce: 70,
    call: (calls) => calls.summarize({ documents: [{ passages: [long] }] }, context('greedy')),
  },
};

/** Runs in a separate process until it is killed. Reports the outcomes of its calls twice a second. */
async function applyLoad([name, address, token, classifierId]: string[]): Promise<void> {
  const { atOnce, call } = loads[name as string] as (typeof loads)[string];
  const { calls } = connect(address as string, token as string);
  const outcomes: Record<string, number> = {};
  setInterval(() => process.send?.(outcomes), 500);
  const loop = async () => {
    for (;;) {
      const outcome = await call(calls, classifierId as string).then(
        () => 'succeeded',
        (err) => (err instanceof HubError ? err.code : 'failed'),
      );
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome !== 'succeeded') await sleep(50);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
}

/** CPU time of the main thread in milliseconds, from Linux (proc, schedstat). */
const loopCpuOf = ({ pid }: ChildProcess) =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000;

/** The milliseconds of each call, and the CPU that the event loop of the service used meanwhile. */
async function steady(service: ChildProcess, call: () => Promise<unknown>) {
  const times: number[] = [];
  const cpus: number[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  for (let at = performance.now(); at < endsAt; at = performance.now()) {
    const cpuBefore = loopCpuOf(service);
    await call();
    times.push(performance.now() - at);
    cpus.push(loopCpuOf(service) - cpuBefore);
    await sleep(10);
  }
  return { times, cpus };
}

/** Peak resident memory of the process, in MiB. */
const peakMb = ({ pid }: ChildProcess) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

/** Waits until the process has finished what an earlier load has left. */
async function rest({ pid }: ChildProcess): Promise<void> {
  const cpu = () => cpuOf(pid as number);
  for (;;) {
    const before = cpu();
    await sleep(1_000);
    if (cpu() - before < 50_000) return;
  }
}

async function startMl(dir: string, serviceToken: string) {
  const port = await freePort();
  const child = spawn(process.execPath, [...flags, main], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      DATAHUB_GRPC_PORT: String(port),
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_SERVICE_TOKEN: serviceToken,
      DATAHUB_STORE_URL: `sqlite:${join(dir, 'ml.db')}`,
      DATAHUB_LOG_LEVEL: 'fatal',
    },
  });
  const address = `127.0.0.1:${port}`;
  const { probe, close } = connect(address, serviceToken);
  while ((await probe(500)) !== 'serving') await sleep(50);
  close();
  return { child, address };
}

async function measure(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  const serviceToken = randomBytes(24).toString('hex');
  const { child, address } = await startMl(dir, serviceToken);
  const { calls, close } = connect(address, serviceToken);
  const create = async (accountId: string, count: number, classes: number) => {
    const { classifier } = await calls.createClassifier({ name: accountId }, context(accountId));
    const classifierId = classifier?.classifierId ?? '';
    for (let at = 0; at < count; at += 1_000) {
      const examples = examplesOf(Math.min(1_000, count - at), classes, at);
      await calls.train({ classifierId, examples, eventId: '' }, context(accountId, trainTimeoutMs));
    }
    return classifierId;
  };
  const large = await create('greedy', classCount, classCount);
  const small = await create('victim', 600, 6);
  const medium = textOf(20_000);
  const victims = {
    predict: () => calls.predict({ classifierId: small, contexts: ['word3 came late'] }, context('victim')),
    summarize: () => calls.summarize({ documents: [{ passages: [medium] }] }, context('victim')),
  };
  printHead('An account of the ml service while another account puts load on it');
  for (const name of Object.keys(loads)) {
    const classifierId = name === 'train' ? await create('greedy', 1_000, 500) : large;
    for (const [what, call] of Object.entries(victims)) {
      await call();
      await rest(child);
      const alone = await steady(child, call);
      const load = fork(fileURLToPath(import.meta.url), [name, address, serviceToken, classifierId]);
      // A client elsewhere would not take the service's CPU.
      if (load.pid !== undefined) setPriority(load.pid, constants.priority.PRIORITY_LOW);
      let outcomes = {};
      load.on('message', (message) => {
        outcomes = message as object;
      });
      await sleep(2_000);
      const loaded = await steady(child, call);
      load.kill('SIGKILL');
      await once(load, 'close');
      const pairs = [{ ours: quantile(loaded.times, 0.99), baseline: quantile(alone.times, 0.99) }];
      printRow({ name: `${what}, p99 during ${name}`, unit: 'ms', pairs, better: 'lower', goal: 2 });
      const figures = (values: number[]) =>
        [0.5, 0.9, 0.99].map((q) => quantile(values, q).toFixed(1)).join(', ');
      const p50 = `p50 ${quantile(loaded.times, 0.5).toFixed(1)} ms, alone ${quantile(alone.times, 0.5).toFixed(1)} ms`;
      const cpu = `CPU of the event loop, p50, p90, p99: ${figures(loaded.cpus)} ms, alone ${figures(alone.cpus)} ms`;
      process.stdout.write(
        `  ${p50}; ${cpu}\n  load: ${JSON.stringify(outcomes)}; peak ${peakMb(child).toFixed(0)} MiB of ${limitMb}\n`,
      );
    }
  }
  close();
  child.kill('SIGKILL');
  await once(child, 'close');
  rmSync(dir, { recursive: true, force: true });
}

if (process.argv.length > 2) await applyLoad(process.argv.slice(2));
else await measure();
