import { afterEach, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

let hub: SpawnedHub | undefined;
afterEach(() => hub?.close());

/** Statuses of requests with a bad key, by what they say of where they come from. */
async function refusals(settings: Record<string, string>, forwarded: string[]): Promise<number[]> {
  hub = await spawnHub({ DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '2', ...settings });
  const statuses: number[] = [];
  for (const value of forwarded) {
    const headers: Record<string, string> = value === '' ? {} : { 'x-forwarded-for': value };
    statuses.push((await hub.api.get('/v1/hubs', { key: 'a-bad-key', headers })).status);
  }
  return statuses;
}

it('counts bad keys by the address that a trusted proxy tells', async () => {
  const trusted = { DATAHUB_TRUSTED_PROXIES: '127.0.0.0/8, ::1, 10.0.0.0/8' };
  const one = '203.0.113.1';
  expect(
    await refusals(trusted, [
      one,
      // What the caller wrote before does not count, nor do the proxies between.
      `198.51.100.7, ${one}`,
      `198.51.100.8, ${one}, 10.1.2.3`,
      one,
      '203.0.113.2',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8::3',
      'no address',
      '',
      '',
    ]),
  ).toEqual([401, 401, 429, 429, 401, 401, 401, 429, 401, 401, 429]);
});

it('believes nobody else', async () => {
  const anywhere = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'];
  expect(await refusals({}, anywhere)).toEqual([401, 401, 429, 429]);
  await hub?.close();
  expect(await refusals({ DATAHUB_TRUSTED_PROXIES: '10.0.0.0/8' }, anywhere)).toEqual([401, 401, 429, 429]);
});
