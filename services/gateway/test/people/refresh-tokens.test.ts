import { expect, it } from 'vitest';
import { toSignIn } from '../../src/people/refresh-tokens.ts';

it('lets what the provider said count for longer than the hub takes to ask again, also without time away', () => {
  const settings = { account: '', clientSecret: 's', refreshMs: 3_600_000, awayMs: 0 };
  const person = { issuer: 'i', subject: 'ada', refreshToken: 'r', name: 'Ada', groups: [] };
  const { confirmedUntil, refreshAt } = toSignIn(person as never, settings as never, 1_000);
  const leftMs = Number(confirmedUntil) - Number(refreshAt);
  // Two polls, and an answer after two limits of time.
  expect(leftMs).toBeGreaterThan(60_000);
});
