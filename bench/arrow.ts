/**
 * A million rows of six columns as Arrow: the hub's CPU against JSON's and CSV's, in turns, and the time until pandas has
 * them, with the CPU time of the database, the hub and Python.
 */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { arrowEnv, canReadArrow } from '../tools/arrow-readers.ts';
import { type Server, startServer, threadsCpuOf } from './support/child.ts';
import { once } from './support/load.ts';
import { median, printHead } from './support/table.ts';

const count = Number(process.env.BENCH_ROWS ?? 1_000_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const warmUps = 2;
const hubProgram = fileURLToPath(new URL('support/hub.ts', import.meta.url));
const mediaTypes = {
  json: 'application/json',
  csv: 'text/csv',
  arrow: 'application/vnd.apache.arrow.stream',
};
type Format = keyof typeof mediaTypes;

async function setUp(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('DROP TABLE IF EXISTS bench_rows');
  await client.query(
    `CREATE TABLE bench_rows AS SELECT n AS id, 'customer number ' || n AS name, (n::bigint * 7919 % 100000) / 100.0::float8 AS amount,
     timestamptz '2026-01-01' + n * interval '1 second' AS at, n % 2 = 0 AS active, md5(n::text) AS note
     FROM generate_series(1, ${count}) n`,
  );
  await client.query('ANALYZE bench_rows');
  await client.end();
}

const asking = (hub: Server, format: Format): Server => ({
  ...hub,
  headers: { ...hub.headers, accept: mediaTypes[format] },
});

/** CPU of the hub in milliseconds, and the most memory in MiB. */
async function measure(hub: Server, format: Format) {
  const before = await hub.cpu();
  let memory = 0;
  const watch = setInterval(async () => {
    memory = Math.max(memory, await hub.memory());
  }, 50);
  const { bytes } = await once(asking(hub, format));
  clearInterval(watch);
  return { cpuMs: ((await hub.cpu()) - before) / 1_000, megabytes: bytes / 1e6, memory };
}

const read: Record<'csv' | 'arrow', (source: string) => string> = {
  csv: (source) => `pandas.read_csv(${source}, parse_dates=["at"])`,
  arrow: (source) => `pyarrow.ipc.open_stream(${source}).read_pandas()`,
};

interface IntoPandas {
  /** From the request until the frame is complete. */
  wallMs: number;
  pythonMs: number;
  hubMs: number;
  databaseMs: number;
  /** CPU of Python for bytes that are in memory already. */
  parseMs: number;
}

async function measurePandas(hub: Server, format: 'csv' | 'arrow', database: pg.Client): Promise<IntoPandas> {
  const program = `
import io, json, sys, time, urllib.request
import pandas, pyarrow.ipc
url, headers, body = json.loads(sys.stdin.readline())
ask = lambda: urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers))
began, cpu = time.perf_counter(), time.process_time()
with ask() as answer:
    # Each read of an answer in chunks costs Python much, so it reads large pieces.
    frame = ${read[format]('io.BufferedReader(answer, 1_048_576)')}
wall, cpu = time.perf_counter() - began, time.process_time() - cpu
assert len(frame) == ${count} and str(frame["at"].dtype).startswith("datetime64")
print(json.dumps([wall, cpu]), flush=True)
sys.stdin.readline()
with ask() as answer:
    whole = answer.read()
del frame
cpu = time.process_time()
frame = ${read[format]('pyarrow.BufferReader(whole)')}
print(json.dumps(time.process_time() - cpu))
`;
  const [hubBefore, databaseBefore] = [await hub.cpu(), await databaseCpu(database)];
  const child = spawn('python3', ['-c', program], {
    env: arrowEnv(process.env),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string);
  const headers = { ...hub.headers, accept: mediaTypes[format] };
  child.stdin.write(`${JSON.stringify([hub.url, headers, hub.body])}\n`);
  const [wall, python] = await next();
  const hubMs = ((await hub.cpu()) - hubBefore) / 1_000;
  const databaseMs = ((await databaseCpu(database)) - databaseBefore) / 1_000;
  child.stdin.end('\n');
  return {
    wallMs: wall * 1_000,
    pythonMs: python * 1_000,
    hubMs,
    databaseMs,
    parseMs: (await next()) * 1_000,
  };
}

/** Of the hub's sessions, in microseconds. The server runs on this machine. */
async function databaseCpu(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  return rows.reduce((sum, { pid }) => sum + threadsCpuOf(pid), 0);
}

const url = process.env.POSTGRES_URL;
printHead(`${count.toLocaleString('en')} rows × 6 columns as Arrow`);
if (url === undefined)
  process.stdout.write('arrow: skipped, because POSTGRES_URL is not in the environment.\n');
else {
  await setUp(url);
  // Each format has a hub of its own, so that V8 compiles for it alone, as in a hub that mostly answers in one format.
  const formats = await Promise.all(
    (['json', 'csv', 'arrow'] as const).map(async (format) => {
      const hub = await startServer(hubProgram, ['postgres', url, 'large', 'single'], v8Flags);
      return { format, hub, runs: [] as Awaited<ReturnType<typeof measure>>[] };
    }),
  );
  for (let round = -warmUps; round < rounds; round++) {
    for (const { format, hub, runs } of formats) {
      const run = await measure(hub, format);
      if (round >= 0) runs.push(run);
    }
  }
  for (const { format, runs } of formats) {
    const cpu = median(runs.map(({ cpuMs }) => cpuMs));
    const least = Math.min(...runs.map(({ cpuMs }) => cpuMs));
    const most = Math.max(...runs.map(({ memory }) => memory));
    process.stdout.write(
      `  ${format.padEnd(6)} ${cpu.toFixed(0)} ms of the hub's CPU, ${least.toFixed(0)} at least, ${runs[0]?.megabytes.toFixed(0)} MB, ${most.toFixed(0)} MiB of memory at most\n`,
    );
  }
  if (canReadArrow()) {
    const database = new pg.Client({ connectionString: url });
    await database.connect();
    const read = formats.flatMap(({ format, hub }) =>
      format === 'json' ? [] : [{ format, hub, runs: [] as IntoPandas[] }],
    );
    for (let round = 0; round < rounds; round++)
      for (const { format, hub, runs } of read) runs.push(await measurePandas(hub, format, database));
    for (const { format, runs } of read) {
      const ms = (part: keyof IntoPandas) => `${median(runs.map((run) => run[part])).toFixed(0)} ms`;
      process.stdout.write(
        `  ${format.padEnd(6)} ${ms('wallMs')} until pandas has the rows; CPU: database ${ms('databaseMs')}, hub ${ms('hubMs')}, Python ${ms('pythonMs')}, from memory ${ms('parseMs')}\n`,
      );
    }
    await database.end();
  } else process.stdout.write('  pandas skipped: node tools/arrow-readers.ts installs it.\n');
  for (const { hub } of formats) await hub.stop();
}
