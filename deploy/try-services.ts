/**
 * Starts staged services as users that own no files, makes calls that the gateway, the catalog and ml answer, and looks for
 * files that the services should not have written.
 */

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateKeyPair } from '../packages/sealing/src/key-pair.ts';

/** A user id that no account has, on this machine or in an image. */
const unknownUserId = 54_321;
const readyTimeoutMs = 30_000;

export interface StagedImage {
  service: string;
  /** The directory that is `/app` in the image. */
  dir: string;
  entrypoint: string[];
  healthCheck: string[];
  env: Record<string, string>;
  /** The user that containers run as. */
  userId: number;
  /** How many third-party packages it contains, nested ones included. */
  packages: number;
}

export async function tryServices(images: StagedImage[], log: (line: string) => void): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'data-hub-data-'));
  const children: ChildProcess[] = [];
  try {
    const { userId } = imageOf(images, 'gateway');
    await chown(data, userId, userId);
    const settings = await settingsOf(data);
    await startWithoutSecrets(images, log);
    for (const name of ['catalog', 'ml', 'executor', 'gateway']) {
      const image = imageOf(images, name);
      await mkdir(join(data, name));
      await chown(join(data, name), userId, userId);
      children.push(start(image, { ...settings.common, ...settings.own[name] }));
    }
    await callThrough(settings, log);
    await makeAccount(imageOf(images, 'catalog'), settings, log);
    for (const child of children.toReversed()) await stop(child);
    const stray = strayFiles(data, userId);
    if (stray.length > 0)
      throw new Error(`The services wrote outside of the data directory: ${stray.join(', ')}.`);
    log('nothing was written outside of the data directory');
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await rm(data, { recursive: true, force: true });
  }
}

/** Starts the hub as its image does, but as an unknown user, over a data directory that stands for the volume. */
export async function tryHub(built: StagedImage, log: (line: string) => void): Promise<void> {
  const image = { ...built, userId: unknownUserId };
  const data = await mkdtemp(join(tmpdir(), 'data-hub-volume-'));
  const port = await freePort();
  const own = { HOST: '127.0.0.1', PORT: String(port), DATAHUB_METRICS_PORT: '0', DATAHUB_DATA_DIR: data };
  let hub: ChildProcess | undefined;
  try {
    await chown(data, unknownUserId, unknownUserId);
    if ((await checkHealth(image, own)) === 0) throw new Error('The health check passed without a hub.');
    hub = start(image, own);
    const gatewayUrl = `http://127.0.0.1:${port}`;
    await untilReady(gatewayUrl);
    const apiKey = (await readFile(join(data, 'api-key'), 'utf8')).trim();
    await callThrough({ gatewayUrl, apiKey }, log);
    if ((await checkHealth(image, own)) !== 0) throw new Error('The health check failed.');
    await stop(hub);
    const stray = strayFiles(data, unknownUserId);
    if (stray.length > 0) throw new Error(`The hub wrote outside of its volume: ${stray.join(', ')}.`);
    log('the hub in one process answers, is healthy, and wrote to its volume only');
  } finally {
    hub?.kill('SIGKILL');
    await rm(data, { recursive: true, force: true });
  }
}

/** The exit code of the image's HEALTHCHECK. */
async function checkHealth(image: StagedImage, env: Record<string, string>): Promise<number | null> {
  const child = start({ ...image, entrypoint: image.healthCheck }, env);
  await once(child, 'close');
  return child.exitCode;
}

function imageOf(images: StagedImage[], name: string): StagedImage {
  const image = images.find(({ service }) => service === name);
  if (image === undefined) throw new Error(`${name} was not staged.`);
  return image;
}

interface Settings {
  gatewayUrl: string;
  apiKey: string;
  common: Record<string, string>;
  own: Record<string, Record<string, string>>;
}

async function settingsOf(data: string): Promise<Settings> {
  const [port, catalog, internal, executor, ml] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const { publicKey, privateKey } = await generateKeyPair();
  const apiKey = randomBytes(24).toString('hex');
  return {
    gatewayUrl: `http://127.0.0.1:${port}`,
    apiKey,
    common: {
      HOST: '127.0.0.1',
      DATAHUB_SERVICE_TOKEN: randomBytes(32).toString('hex'),
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_CATALOG_ADDRESS: `127.0.0.1:${catalog}`,
      DATAHUB_CATALOG_INTERNAL_ADDRESS: `127.0.0.1:${internal}`,
      DATAHUB_EXECUTOR_ADDRESS: `127.0.0.1:${executor}`,
      DATAHUB_ML_ADDRESS: `127.0.0.1:${ml}`,
    },
    own: {
      catalog: {
        DATAHUB_DATA_DIR: join(data, 'catalog'),
        DATAHUB_GRPC_PORT: String(catalog),
        DATAHUB_INTERNAL_PORT: String(internal),
        DATAHUB_API_KEY: apiKey,
        DATAHUB_SEALING_PUBLIC_KEYS: publicKey,
      },
      executor: {
        DATAHUB_DATA_DIR: join(data, 'executor'),
        DATAHUB_GRPC_PORT: String(executor),
        DATAHUB_SEALING_PRIVATE_KEYS: privateKey,
      },
      ml: { DATAHUB_DATA_DIR: join(data, 'ml'), DATAHUB_GRPC_PORT: String(ml) },
      gateway: { DATAHUB_DATA_DIR: join(data, 'gateway'), PORT: String(port) },
    },
  };
}

/** The service gets the image's environment and its settings, and nothing of this process's environment. */
function start(image: StagedImage, env: Record<string, string>, stderr: 'inherit' | 'pipe' = 'inherit') {
  const [, ...args] = image.entrypoint;
  return spawn(process.execPath, args, {
    cwd: image.dir,
    env: { ...image.env, ...env },
    uid: image.userId,
    gid: image.userId,
    stdio: ['ignore', 'ignore', stderr],
  });
}

/** Tests that the services refuse that, and that Node took their code from the cache of the image. */
async function startWithoutSecrets(images: StagedImage[], log: (line: string) => void): Promise<void> {
  for (const image of images) {
    const child = start(image, { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }, 'pipe');
    let text = '';
    child.stderr?.on('data', (chunk) => {
      text += String(chunk);
    });
    await once(child, 'close');
    if (child.exitCode !== 1 || !text.includes('DATAHUB_SERVICE_TOKEN')) {
      throw new Error(`${image.service} without its secrets exited with ${child.exitCode}: ${text}`);
    }
    if (!/main\.ts was accepted/.test(text))
      throw new Error(`${image.service} compiles its code at each start: ${text}`);
    log(`${image.service} refuses to start without its secrets, and its code is compiled`);
  }
}

async function callThrough(
  settings: Pick<Settings, 'gatewayUrl' | 'apiKey'>,
  log: (line: string) => void,
): Promise<void> {
  const startedMs = performance.now();
  await untilReady(settings.gatewayUrl);
  log(`ready after ${Math.round(performance.now() - startedMs)} ms`);
  const call = (path: string, body: object) =>
    fetch(`${settings.gatewayUrl}${path}`, {
      method: 'POST',
      headers: { 'x-service-api-key': settings.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const hub = await call('/v1/hubs', { label: 'tried out' });
  const text =
    'The hub keeps queries. Programs call them over HTTP. Nobody writes an endpoint by hand any more.';
  const summary = await call('/v1/ai/summarize', { context: [text] });
  for (const answer of [hub, summary]) {
    if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${await answer.text()}`);
  }
  log('the services created a hub and summarized a text');
  for (const path of ['/', '/console/console.js']) {
    const { ok, status } = await fetch(settings.gatewayUrl + path);
    if (!ok) throw new Error(`${path} answered ${status}: the image has no console.`);
  }
  log('the console is there');
}

/** Runs the command line inside the catalog's image, as `kubectl exec` does. */
async function makeAccount(
  catalog: StagedImage,
  { gatewayUrl, common, own }: Settings,
  log: (line: string) => void,
): Promise<void> {
  const args = ['services/hub/src/cli.ts', 'keys', 'create', '--name', 'another team', '--new-account'];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: catalog.dir,
    env: { ...catalog.env, ...common, ...own.catalog, DATAHUB_URL: gatewayUrl },
    uid: catalog.userId,
    gid: catalog.userId,
  });
  const { key } = JSON.parse(stdout);
  const answer = await fetch(`${gatewayUrl}/v1/hubs`, { headers: { 'x-service-api-key': key } });
  if (!answer.ok || (await answer.text()) !== '[]')
    throw new Error(`A new account's key got ${answer.status}.`);
  log('the command line created an account from inside the catalog image');
}

async function untilReady(url: string): Promise<void> {
  const deadlineMs = Date.now() + readyTimeoutMs;
  while (Date.now() < deadlineMs) {
    const ready = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The services were not ready within ${readyTimeoutMs} ms.`);
}

async function stop(child: ChildProcess): Promise<void> {
  const { exitCode, signalCode } = child;
  if (exitCode !== null || signalCode !== null)
    throw new Error(`A service exited early with ${exitCode ?? signalCode}.`);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  if (child.exitCode !== 0) throw new Error(`A service exited with ${child.exitCode} after SIGTERM.`);
}

/** The user id owns no other files on this machine, so every file it owns was written by the services. */
function strayFiles(data: string, userId: number): string[] {
  // Other programs may delete directories during the search, which then exits with 1.
  const args = [
    '/',
    '-ignore_readdir_race',
    '-xdev',
    '-path',
    '/proc',
    '-prune',
    '-o',
    '-uid',
    String(userId),
    '-print',
  ];
  const { stdout, error } = spawnSync('find', args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return stdout.split('\n').filter((path) => path !== '' && !path.startsWith(data));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
  return address.port;
}
