import { createHash } from 'node:crypto';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const key = 'a-key-of-at-least-32-characters-000';
const otherKey = 'a-key-of-at-least-32-characters-111';
const hashOf = (text: string) => createHash('sha256').update(text).digest();
const callsOfOther = 30;
const turnsOfCall = 20;

it.each([
  ['small', 'x'],
  ['large', 'x'.repeat(100_000)],
])('gives the work of a %s body its turns beside that of many of another account', async (_, context) => {
  const config = readSettings({}, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  const authenticate = async ({ keySha256 }: { keySha256: Buffer }) => {
    const accountId = keySha256.equals(hashOf(key)) ? 'ours' : 'theirs';
    const principal = { accountId, keyId: accountId, scopes: ['*'], limits: undefined };
    return { principal, expiresAt: undefined };
  };
  let begun = 0;
  const ended: string[] = [];
  const train = async (_request: unknown, { principal }: { principal: { accountId: string } }) => {
    begun++;
    for (let turn = 0; turn < turnsOfCall; turn++) await nextTurn();
    ended.push(principal.accountId);
    return { classes: [] };
  };
  const app = await createApp(config, {
    keyCache: createKeyCache({ catalog: { authenticate } as never, cacheMs: 1_000, awayMs: 1_000 }),
    rateLimiter: createRateLimiter(config),
    userTokens: createUserTokens({} as never),
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: { ml: { train } } as never,
    inFront: undefined,
  });
  const call = async (as: string) => {
    const headers = { 'x-service-api-key': as, 'content-type': 'application/json' };
    const payload = { examples: [{ label: 'a', context }] };
    const answer = await app.inject({ method: 'POST', url: '/v1/classifiers/c/train', headers, payload });
    return answer.statusCode;
  };
  try {
    expect(await call(otherKey)).toBe(200);
    const calls = Array.from({ length: callsOfOther }, () => call(otherKey));
    await expect.poll(() => begun, { interval: 1 }).toBe(callsOfOther + 1);
    ended.length = 0;
    expect(await call(key)).toBe(200);
    expect(ended).toContain('ours');
    expect(ended.indexOf('ours')).toBeLessThan(callsOfOther / 2);
    expect(await Promise.all(calls)).toEqual(calls.map(() => 200));
  } finally {
    await app.close();
  }
});
