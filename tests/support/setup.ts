/** Starts one hub for all test files of a project, in the form and over the store that the project names. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { TestProject } from 'vitest/node';
import { openHub } from '../../services/hub/src/compose.ts';
import { startDistributed } from '../../services/hub/src/distributed.ts';
import { startBalancer } from './balancer.ts';
import { createTestDatabases, losesUpdates } from './databases.ts';
import { workers } from './schedule.ts';
import { spawnHub } from './spawned.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const env = { ...process.env, ...project.config.env } as Record<string, string | undefined>;
  const dataDir = await mkdtemp(join(tmpdir(), 'datahub-e2e-'));
  const databases = await createTestDatabases(env, workers);
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const storeName = `e2e_${randomBytes(6).toString('hex')}`;
  const settings = {
    PORT: '0',
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_DATA_DIR: dataDir,
    DATAHUB_API_KEY: key,
    DATAHUB_DEMO: '0',
    DATAHUB_PUBLIC_ORIGIN: 'https://hub.example',
    DATAHUB_LOG_LEVEL: env.DATAHUB_LOG_LEVEL ?? 'error',
    // A busy machine takes longer to connect than the defaults give a source.
    DATAHUB_CONNECT_TIMEOUT_MS: '30000',
    DATAHUB_POOL_WAIT_MS: '40000',
    ...(env.HUB_STORE === 'mongodb' ? { DATAHUB_STORE_URL: mongoUrl(env.MONGODB_URL, storeName) } : {}),
    ...(env.HUB_EDGE === undefined ? {} : { DATAHUB_EDGE: env.HUB_EDGE }),
  };
  const { otherKey, refusedKey, jobsKey } = await createOtherAccounts(settings);
  const hub = await startForm(env.HUB_FORM, settings);
  const hasReplicas = env.HUB_FORM === 'replicas' || env.HUB_FORM === 'workers';
  project.provide('databases', databases.all);
  project.provide('hub', {
    url: `http://127.0.0.1:${hub.port}`,
    key,
    otherKey,
    refusedKey,
    jobsKey,
    metricsUrl: `http://127.0.0.1:${hub.metricsPort}`,
    replicas: hasReplicas ? 2 : 1,
    losesUpdates: env.HUB_FORM === 'replicas' && (await losesUpdates(env.MONGODB_URL)),
  });
  return async () => {
    await hub.close();
    await databases.close();
    await rm(dataDir, { recursive: true, force: true });
  };
}

async function startForm(form: string | undefined, settings: Record<string, string>) {
  if (form === 'single') return openHub(settings);
  if (form === 'workers') return startWorkers(settings);
  const hub = await startDistributed(settings, 'inherit', { replicas: form === 'replicas' ? 2 : 1 });
  if (form !== 'replicas') return hub;
  const balancer = await startBalancer(hub.gateways.map(({ port }) => port));
  const close = async () => {
    balancer.close();
    await hub.close();
  };
  return { port: balancer.port, metricsPort: hub.metricsPort, close };
}

async function startWorkers(settings: Record<string, string>) {
  const metricsPort = await freePort();
  const { url, close } = await spawnHub({ ...settings, DATAHUB_METRICS_PORT: String(metricsPort) }, [
    '--workers',
    '2',
  ]);
  return { port: Number(new URL(url).port), metricsPort, close };
}

function mongoUrl(server: string | undefined, name: string): string {
  if (server === undefined) throw new Error('MONGODB_URL is not set.');
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Three further accounts, made as an operator makes them: from the command line, before the hub runs. */
async function createOtherAccounts(settings: Record<string, string>) {
  const command = fileURLToPath(new URL('../../services/hub/src/cli.ts', import.meta.url));
  const create = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [command, 'keys', 'create', ...args], {
      env: { ...process.env, ...settings, DATAHUB_URL: 'http://127.0.0.1:9' },
    });
    return JSON.parse(stdout).key;
  };
  await create('--name', 'first');
  const otherKey = await create('--name', 'other', '--new-account');
  const refusedKey = await create('--name', 'refused', '--new-account');
  return { otherKey, refusedKey, jobsKey: await create('--name', 'jobs', '--new-account') };
}
