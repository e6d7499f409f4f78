import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  clientSecret,
  createAgent,
  oidcSettings,
  startProvider,
  type TestProvider,
} from '../support/browser/provider.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const wrongSecret = `${clientSecret}-but-an-old-one`;
let provider: TestProvider;
let hub: SpawnedHub;
let folder: string;
let log: number;

beforeAll(async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  folder = await mkdtemp(join(tmpdir(), 'datahub-log-'));
  log = openSync(join(folder, 'log'), 'a');
  provider = await startProvider(origin);
  provider.people.set('ada', { name: 'Ada Lovelace' });
  provider.who = 'ada';
  const settings = { ...oidcSettings(provider, origin), DATAHUB_OIDC_CLIENT_SECRET: wrongSecret };
  hub = await spawnHub({ PORT: String(port), ...settings, DATAHUB_LOG_LEVEL: 'warn' }, [], log);
});
afterAll(async () => {
  await hub?.close();
  await provider?.close();
  closeSync(log);
  await rm(folder, { recursive: true, force: true });
});

it('says why the provider refused a sign-in, not more often than needed, and no secret', async () => {
  const agent = createAgent();
  let at = `${hub.url}/auth/login`;
  while (!at.startsWith(`${hub.url}/auth/callback`))
    at = new URL((await agent.send(at)).headers.get('location') as string, at).href;
  const code = new URL(at).searchParams.get('code') as string;
  expect((await agent.send(at)).status).toBe(401);
  const read = () => readFile(join(folder, 'log'), 'utf8');
  await expect.poll(read, { timeout: 10_000 }).toContain('sign-in.refused');

  expect((await createAgent().visit(`${hub.url}/auth/login`)).response.status).toBe(401);
  await hub.close();
  const text = await read();
  const refused = text.split('\n').filter((line) => line.includes('sign-in.refused'));
  expect(refused.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, cause: expect.stringContaining('invalid_client') }),
  ]);
  for (const secret of [wrongSecret, clientSecret, code]) expect(text).not.toContain(secret);
});
