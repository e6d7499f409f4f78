import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../services/hub/src/main.ts', import.meta.url));
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-output-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** What `npm start` prints until it invites to try the demo. */
async function start(env: Record<string, string>): Promise<string> {
  const port = String(await freePort());
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, PORT: port, DATAHUB_METRICS_PORT: '0', DATAHUB_DATA_DIR: dir, ...env },
  });
  let text = '';
  const take = (chunk: Buffer) => {
    text += chunk;
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  await expect.poll(() => text, { timeout: 50_000 }).toContain('/predict');
  child.kill('SIGTERM');
  await once(child, 'close');
  return text;
}

it('shows the key at the first start alone, and a given key never', { timeout: 120_000 }, async () => {
  const first = await start({});
  const key = (await readFile(join(dir, 'api-key'), 'utf8')).trim();
  expect(first.split(key)).toHaveLength(2);
  expect(await start({})).not.toContain(key);
  const given = 'given-key-'.repeat(5);
  const told = await start({ DATAHUB_API_KEY: given });
  expect([told.includes(given), told.includes(key)]).toEqual([false, false]);
});
