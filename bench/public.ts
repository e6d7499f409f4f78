/**
 * The seven cases of the public benchmark of NpgsqlRest, at 1, 50 and 100 users: the hub in one process against a
 * hand-written Fastify server, and against pREST and MCP Toolbox if PREST and TOOLBOX name their binaries
 * (docs/benchmarks.md says how to get them). The contenders take turns, and CPU per request is of their process alone,
 * because other programs may use the machine.
 *
 *     PREST=/path/to/prestd TOOLBOX=/path/to/toolbox npm run bench -- public
 *     npm run bench -- public --against COMMIT    beside the hub of a commit
 *
 * BENCH_REQUESTS, BENCH_ROUNDS and BENCH_USERS change the load. Each case is called BENCH_WARM_UP times before it, by
 * default twice BENCH_REQUESTS; a hub's code is settled after some 40,000.
 */

import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { type Case, cases } from './public/cases.ts';
import {
  type Call,
  type Contender,
  startByHand,
  startHub,
  startPrest,
  startToolbox,
} from './public/contenders.ts';
import { threadsCpuOf } from './support/child.ts';
import { median, quantile } from './support/table.ts';
import { checkOut, commitOf } from './support/trees.ts';

const { values: options } = parseArgs({ options: { against: { type: 'string' } } });
const url = process.env.POSTGRES_URL;
if (url === undefined) throw new Error('POSTGRES_URL is not set.');
const requests = Number(process.env.BENCH_REQUESTS ?? 1_500);
const warmUp = Number(process.env.BENCH_WARM_UP ?? 2 * requests);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const users = (process.env.BENCH_USERS ?? '1,50,100').split(',').map(Number);
const say = (line: string) => process.stdout.write(`${line}\n`);

interface Figures {
  perSecond: number;
  cpuMicros: number;
  p99Ms: number;
}

function send({ url, method, headers, body }: Call, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${method} ${url.slice(0, 80)}: ${response.statusCode} ${text.slice(0, 200)}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}

async function requireRows(contender: Contender, one: Case): Promise<void> {
  const agent = new Agent();
  const rows = contender.rowsOf(JSON.parse(await send(contender.callOf(one), agent)));
  if (rows.length !== one.rows) throw new Error(`${contender.name}: ${one.name} has ${rows.length} rows.`);
}

async function measure(contender: Contender, one: Case, load: { users: number; requests: number }) {
  const agent = new Agent({ keepAlive: true, maxSockets: load.users });
  const call = contender.callOf(one);
  const times: number[] = [];
  const cpuBefore = threadsCpuOf(contender.pid);
  const began = performance.now();
  let sent = 0;
  const user = async () => {
    while (sent++ < load.requests) {
      const startedAt = performance.now();
      await send(call, agent);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: load.users }, user));
  const seconds = (performance.now() - began) / 1_000;
  agent.destroy();
  return {
    perSecond: load.requests / seconds,
    cpuMicros: (threadsCpuOf(contender.pid) - cpuBefore) / load.requests,
    p99Ms: quantile(times, 0.99),
  };
}

const { PREST, TOOLBOX } = process.env;
const commit = options.against === undefined ? undefined : commitOf(options.against);
const isPostOnly = commit !== undefined;
const contenders = [await startByHand(url), await startHub(url, { isPostOnly })];
if (commit !== undefined)
  contenders.push(await startHub(url, { name: commit, tree: checkOut(commit), isPostOnly }));
if (PREST !== undefined) contenders.push(await startPrest(PREST, url));
if (TOOLBOX !== undefined) contenders.push(await startToolbox(TOOLBOX, url));
try {
  for (const contender of contenders) for (const one of cases) await requireRows(contender, one);
  // V8 compiles hot code first.
  for (const contender of contenders)
    for (const one of cases) await measure(contender, one, { users: 50, requests: warmUp });
  for (const count of users) await compare(count);
} finally {
  for (const contender of contenders) await contender.stop();
}

async function compare(count: number): Promise<void> {
  say(
    `\n${count} ${count === 1 ? 'user' : 'users'}: the hand-written server, and ratios to it (medians of ${rounds})`,
  );
  say(
    `${'case'.padEnd(12)}${'rate/s'.padStart(9)}${'CPU µs'.padStart(9)}${'p99 ms'.padStart(9)}` +
      contenders
        .slice(1)
        .map(({ name }) => `${name}: rate, CPU, p99`.padStart(30))
        .join(''),
  );
  const load = { users: count, requests: count === 1 ? Math.ceil(requests / 3) : requests };
  for (const one of cases) {
    const measured: Figures[][] = [];
    for (let round = 0; round < rounds; round++) {
      const figures: Figures[] = [];
      for (const contender of contenders) figures.push(await measure(contender, one, load));
      measured.push(figures);
    }
    const of = (contender: number, name: keyof Figures) =>
      median(measured.map((figures) => (figures[contender] as Figures)[name]));
    const ratio = (contender: number, name: keyof Figures) => {
      const ratios = measured.map(
        (figures) => (figures[contender] as Figures)[name] / (figures[0] as Figures)[name],
      );
      return median(ratios).toFixed(2);
    };
    const cells = contenders
      .slice(1)
      .map((_, i) =>
        `${ratio(i + 1, 'perSecond')}, ${ratio(i + 1, 'cpuMicros')}, ${ratio(i + 1, 'p99Ms')}`.padStart(30),
      );
    say(
      `${one.name.padEnd(12)}${of(0, 'perSecond').toFixed(0).padStart(9)}${of(0, 'cpuMicros').toFixed(0).padStart(9)}` +
        `${of(0, 'p99Ms').toFixed(1).padStart(9)}${cells.join('')}`,
    );
  }
}
