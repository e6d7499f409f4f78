/**
 * `npm run files-on-the-way`: prints the project's own files that a warm execution, a predict and a list of hubs run
 * through. It starts the hub in this process with the demo, repeats each request, and counts a file for a request if
 * V8's coverage saw one of its functions run every time. Code that runs only while a module loads does not count.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHub } from '../services/hub/src/compose.ts';
import { startDemo } from '../services/hub/src/demo-content.ts';

const root = new URL('..', import.meta.url).href;
const warmUps = 20;
const repeats = 5;

interface Request {
  name: string;
  send(): Promise<Response>;
}

const session = new Session();
session.connect();

/** The project files in which a function ran since the last call. */
async function takeFiles(): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(
    ({ url, functions }) =>
      /\/(services|packages)\/[^/]+\/src\//.test(url) &&
      // The first function is the module itself.
      functions
        .slice(functions[0]?.functionName === '' ? 1 : 0)
        .some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  );
  return new Set(ran.map(({ url }) => url.slice(root.length)));
}

async function filesOf({ name, send }: Request): Promise<string[]> {
  const finish = async () => {
    const response = await send();
    const text = await response.text();
    if (!response.ok) throw new Error(`${name} failed: ${text}`);
  };
  for (let i = 0; i < warmUps; i++) await finish();
  let always: Set<string> | undefined;
  for (let i = 0; i < repeats; i++) {
    await takeFiles();
    await finish();
    const files = await takeFiles();
    always = always === undefined ? files : new Set([...always].filter((file) => files.has(file)));
  }
  return [...(always ?? [])].sort();
}

function print(name: string, files: readonly string[]): void {
  process.stdout.write(`\n${name}: ${files.length} files\n`);
  for (const [part, own] of Map.groupBy(files, (file) => file.split('/', 2).join('/'))) {
    process.stdout.write(`  ${part}: ${own?.length}\n`);
    for (const file of own ?? []) process.stdout.write(`    ${file.slice(part.length + '/src/'.length)}\n`);
  }
}

const dataDir = await mkdtemp(join(tmpdir(), 'files-on-the-way-'));
const hub = await openHub({
  DATAHUB_DATA_DIR: dataDir,
  PORT: '0',
  DATAHUB_METRICS_PORT: '0',
  DATAHUB_LOG_LEVEL: 'warn',
});
const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim();
const starting = await startDemo({ url: hub.url, key, dataDir });
const demo = await starting.ready;
const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
const post = (path: string, body: object) => () =>
  fetch(`${hub.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });

try {
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const requests: Request[] = [
    {
      name: 'A warm execution',
      send: post('/v1/queries/execute', { queryId: demo.queryId, context: { region: 'north' } }),
    },
    {
      name: 'A predict',
      send: post(`/v1/classifiers/${demo.classifierId}/predict`, { context: 'my parcel has not arrived' }),
    },
    { name: 'A list of hubs', send: () => fetch(`${hub.url}/v1/hubs`, { headers }) },
  ];
  for (const request of requests) print(request.name, await filesOf(request));
} finally {
  session.disconnect();
  await starting.close();
  await hub.close();
  await rm(dataDir, { recursive: true });
}
