import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMlProcess } from '@datahub/ml/process';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { summarize } from './grpc-client.ts';

const serviceToken = randomBytes(24).toString('hex');
let dir: string;
let address: string;
let running: Awaited<ReturnType<typeof startMlProcess>>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-example-'));
  const port = await freePort();
  address = `127.0.0.1:${port}`;
  running = await startMlProcess({
    DATAHUB_DATA_DIR: dir,
    DATAHUB_GRPC_PORT: String(port),
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_SERVICE_TOKEN: serviceToken,
    DATAHUB_LOG_LEVEL: 'silent',
  });
});
afterAll(async () => {
  await running.close();
  await rm(dir, { recursive: true });
});

const text =
  'The harbour was closed on Monday. A storm had broken its gate. Ships waited outside until Tuesday.';

it('summarizes as the page shows', async () => {
  const summary = await summarize(address, { text, serviceToken, accountId: 'a' });
  expect(summary).not.toBe('');
  expect(text).toContain(summary);
});

it('is refused without the token', async () => {
  const asked = summarize(address, {
    text,
    serviceToken: 'another-token-of-thirty-two-letters',
    accountId: 'a',
  });
  await expect(asked).rejects.toMatchObject({ code: 'KEY_MISSING' });
});
