/**
 * Starts a program of the hub once while its image is built, so that every container finds its code compiled:
 * `node packages/service-kit/fill-compile-cache.mjs USER_ID PROGRAM`. Exits with 1 if the program does not start or stop.
 *
 * Node's cache is for one user id, that of the containers. Afterwards its files belong to root, and all may read them.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.mjs';

const startTimeoutMs = 120_000;
const launcher = fileURLToPath(new URL('launch.mjs', import.meta.url));
const [userId, program] = [Number(process.argv[2]), process.argv[3]];

const data = await mkdtemp(join(tmpdir(), 'data-hub-'));
await mkdir(compileCache, { recursive: true });
for (const dir of [data, compileCache]) await chown(dir, userId, userId);
try {
  await startAndStop();
} finally {
  await rm(data, { recursive: true });
}
for (const path of ['', ...(await readdir(compileCache, { recursive: true }))]) {
  await chown(join(compileCache, path), 0, 0);
  await chmod(join(compileCache, path), 0o755);
}

async function startAndStop() {
  const service = spawn(process.execPath, [launcher, program], {
    env: { ...process.env, ...(await settings()) },
    uid: userId,
    gid: userId,
  });
  const closed = once(service, 'close');
  const late = setTimeout(() => service.kill('SIGKILL'), startTimeoutMs);
  let output = '';
  const hasStarted = () => output.includes('listens on');
  const started = Promise.withResolvers();
  for (const stream of [service.stdout, service.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      if (hasStarted()) started.resolve();
    });
  }
  void started.promise.then(() => service.kill('SIGTERM'));
  const [code] = await closed;
  clearTimeout(late);
  if (code !== 0 || !hasStarted()) throw new Error(`${program} did not start and stop: ${output}`);
}

/** Random keys that nothing else knows, and free ports. */
async function settings() {
  return {
    DATAHUB_DATA_DIR: data,
    DATAHUB_DEMO: '0',
    DATAHUB_SERVICE_TOKEN: randomBytes(32).toString('hex'),
    PORT: '0',
    DATAHUB_GRPC_PORT: '0',
    DATAHUB_INTERNAL_PORT: '0',
    DATAHUB_METRICS_PORT: '0',
    ...(/catalog|executor/.test(program) && (await sealingKeys())),
  };
}

/** Other images do not contain the library for this. */
async function sealingKeys() {
  const { generateKeyPair } = await import('../sealing/src/key-pair.ts');
  const { publicKey, privateKey } = await generateKeyPair();
  return { DATAHUB_SEALING_PUBLIC_KEYS: publicKey, DATAHUB_SEALING_PRIVATE_KEYS: privateKey };
}
