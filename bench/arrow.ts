/** A million rows of six columns as Arrow: the hub's CPU against JSON's and CSV's, and the time until pandas has them. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { arrowEnv, canReadArrow } from '../tools/arrow-readers.ts';
import { type Server, startServer } from './support/child.ts';
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

const read: Record<'csv' | 'arrow', string> = {
  csv: 'frame = pandas.read_csv(answer, parse_dates=["at"])',
  arrow: 'frame = pyarrow.ipc.open_stream(answer).read_pandas()',
};

/** Seconds from the request until the frame is complete. */
async function secondsIntoPandas({ url, headers, body }: Server, format: 'csv' | 'arrow'): Promise<number> {
  const program = `
import json, sys, time, urllib.request
import pandas, pyarrow.ipc
url, headers, body = json.load(sys.stdin)
began = time.perf_counter()
with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)) as answer:
    ${read[format]}
assert len(frame) == ${count} and str(frame["at"].dtype).startswith("datetime64")
print(time.perf_counter() - began)
`;
  const env = arrowEnv(process.env);
  const running = promisify(execFile)('python3', ['-c', program], { env });
  const asked = { ...headers, accept: mediaTypes[format] };
  running.child.stdin?.end(JSON.stringify([url, asked, body]));
  return Number((await running).stdout);
}

const url = process.env.POSTGRES_URL;
printHead(`${count.toLocaleString('en')} rows × 6 columns as Arrow`);
if (url === undefined)
  process.stdout.write('arrow: skipped, because POSTGRES_URL is not in the environment.\n');
else {
  await setUp(url);
  const hub = await startServer(hubProgram, ['postgres', url, 'large', 'single'], v8Flags);
  for (const format of ['json', 'csv', 'arrow'] as const) {
    for (let i = 0; i < warmUps; i++) await once(asking(hub, format));
    const runs = [];
    for (let i = 0; i < rounds; i++) runs.push(await measure(hub, format));
    const cpu = median(runs.map(({ cpuMs }) => cpuMs));
    const most = Math.max(...runs.map(({ memory }) => memory));
    process.stdout.write(
      `  ${format.padEnd(6)} ${cpu.toFixed(0)} ms of the hub's CPU, ${runs[0]?.megabytes.toFixed(0)} MB, ${most.toFixed(0)} MiB of memory at most\n`,
    );
  }
  if (canReadArrow()) {
    for (const format of ['csv', 'arrow'] as const) {
      const times = [];
      for (let i = 0; i < rounds; i++) times.push(await secondsIntoPandas(hub, format));
      process.stdout.write(`  ${format.padEnd(6)} ${median(times).toFixed(2)} s until pandas has the rows\n`);
    }
  } else process.stdout.write('  pandas skipped: node tools/arrow-readers.ts installs it.\n');
  await hub.stop();
}
