import { LoginGrant } from '@datahub/proto/catalog/v1/catalog_internal';
import { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, it } from 'vitest';
import type { CheckedAddress } from '../../src/network/address-policy.ts';
import type { LoginCounter } from '../../src/network/local-logins.ts';
import { type LoginAttempt, LoginAttempts } from '../../src/network/login-attempts.ts';
import { SetUpFailed } from '../../src/ports/engine.ts';

const away = async (): Promise<never> => {
  throw new HubError('UNAVAILABLE', 'The catalog cannot be reached.');
};
/** The catalog is away, so the process counts alone. */
const create = () => new LoginAttempts({ catalog: { takeLogin: away, endLogin: away }, nowMs: () => 90_000 });

const { signal } = new AbortController();
const at = (address: string): CheckedAddress => ({ address, family: 4 });
const sourceOf = (sourceId: string) => ({ accountId: 'a', sourceId, settingsVersion: '1' });
const wrong = new HubError('SOURCE_AUTH', 'The source refuses the log-in.');

interface Try {
  sourceId?: string;
  user?: string;
  err?: unknown;
  isReached?: boolean;
}

/** One attempt. Returns the code of the error if the hub refused it, with the time of the next one. */
async function attempt(
  all: LoginAttempts,
  { sourceId = 's', user = 'u', err, isReached = true }: Try,
): Promise<unknown> {
  const one = all.begin(sourceOf(sourceId), user);
  try {
    await one.admit([at('192.0.2.1')], 5432, signal);
  } catch (refusal) {
    await one.end(refusal);
    return refusal;
  }
  if (isReached) one.reached(at('192.0.2.1'), 5432);
  await one.end(err);
  return undefined;
}

it('refuses the sixth wrong password of a user, and the 21st of an address, before a connection is made', async () => {
  const all = create();
  for (let i = 0; i < 5; i++) expect(await attempt(all, { sourceId: `s${i}`, err: wrong })).toBeUndefined();
  const refusal = { code: 'SOURCE_AUTH', retryable: true, retryAfterMs: 30_000 };
  expect(await attempt(all, { sourceId: 'another' })).toMatchObject(refusal);
  for (let i = 5; i < 20; i++) expect(await attempt(all, { user: `u${i}`, err: wrong })).toBeUndefined();
  expect(await attempt(all, { user: 'another' })).toMatchObject(refusal);
});

it('counts an attempt that ended without an answer, since a wrong password may be answered late', async () => {
  const all = create();
  const err = new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.');
  for (let i = 0; i < 5; i++) await attempt(all, { err });
  expect(await attempt(all, {})).toMatchObject({ code: 'SOURCE_AUTH' });
});

it('does not count an attempt whose log-in was accepted before the set-up failed, and remembers that it was', async () => {
  const all = create();
  const broken = new SetUpFailed(new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.'));
  for (let i = 0; i < 25; i++)
    expect(await attempt(all, { sourceId: 'lacking', err: broken })).toBeUndefined();
  for (let i = 0; i < 6; i++) await attempt(all, { sourceId: 'wrong', err: wrong });
  expect(await attempt(all, { sourceId: 'lacking' })).toBeUndefined();
});

it('counts an attempt at several servers at those that did not accept the log-in', async () => {
  const all = create();
  const unmatched = new HubError('SOURCE_UNREACHABLE', 'No reachable server of the source matches.');
  const admit = async (one: LoginAttempt, address: string) => {
    await one.admit([at(address)], 5432, signal);
    one.reached(at(address), 5432);
  };
  for (let i = 0; i < 5; i++) {
    const one = all.begin(sourceOf('s'), 'u');
    await admit(one, '192.0.2.1');
    await admit(one, '192.0.2.2');
    one.accepted();
    await one.end(unmatched);
  }
  const next = all.begin(sourceOf('s'), 'u');
  await admit(next, '192.0.2.2');
  await expect(admit(next, '192.0.2.1')).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
});

it('does not count an attempt that the end of the process cuts short, but a wrong password', async () => {
  const all = create();
  await all.stop(async () => {});
  const err = new HubError('UNAVAILABLE', 'The hub is stopping.');
  for (let i = 0; i < 5; i++) expect(await attempt(all, { err })).toBeUndefined();
  for (let i = 0; i < 5; i++) expect(await attempt(all, { err: wrong })).toBeUndefined();
  expect(await attempt(all, {})).toMatchObject({ code: 'SOURCE_AUTH' });
});

it('has stopped when all attempts have ended', async () => {
  const all = create();
  const one = all.begin(sourceOf('s'), 'u');
  const order: string[] = [];
  const stopped = all.stop(async () => void order.push('cut')).then(() => order.push('stopped'));
  await one.admit([at('192.0.2.1')], 5432, signal);
  order.push('admitted');
  await one.end();
  await stopped;
  expect(order).toEqual(['cut', 'admitted', 'stopped']);
});

it('does not count attempts that succeeded, that reached no server, or that failed before the password', async () => {
  const all = create();
  const unreachable = new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.');
  for (let i = 0; i < 9; i++) {
    expect(await attempt(all, { sourceId: `s${i}` })).toBeUndefined();
    expect(await attempt(all, { err: unreachable, isReached: false })).toBeUndefined();
    expect(await attempt(all, { err: new HubError('SOURCE_TLS', 'TLS failed.') })).toBeUndefined();
  }
});

it('exempts settings that have logged in from the failures of others', async () => {
  const all = create();
  await attempt(all, { sourceId: 'good' });
  for (let i = 0; i < 6; i++) await attempt(all, { sourceId: `bad${i}`, err: wrong });
  expect(await attempt(all, { sourceId: 'good' })).toBeUndefined();
  expect(await attempt(all, { sourceId: 'bad' })).toMatchObject({ code: 'SOURCE_AUTH' });
});

it('lets many new sources log in at the same time', async () => {
  const all = create();
  const results = Array.from({ length: 30 }, (_, i) => attempt(all, { sourceId: `s${i}` }));
  expect(await Promise.all(results)).toEqual(Array(30).fill(undefined));
});

it('dials only the addresses at which no log-ins have failed', async () => {
  const all = create();
  for (let i = 0; i < 5; i++) await attempt(all, { err: wrong });
  const one = all.begin(sourceOf('s'), 'u');
  expect(await one.admit([at('192.0.2.1'), at('192.0.2.2')], 5432, signal)).toEqual([at('192.0.2.2')]);
  await one.end(wrong);
});

it('gives back what was counted while the attempt failed, and admits nothing more', async () => {
  const ended: object[] = [];
  const asked = Promise.withResolvers<void>();
  const takeLogin: LoginCounter['takeLogin'] = async ({ targets }) => {
    await asked.promise;
    return { grants: targets.map(() => LoginGrant.LOGIN_GRANT_COUNTED), minute: 1, retryAfterMs: 30_000 };
  };
  const endLogin: LoginCounter['endLogin'] = async ({ returned, failed }) => {
    ended.push({ returned: returned.length, failed: failed.length });
    return {};
  };
  const all = new LoginAttempts({ catalog: { takeLogin, endLogin }, nowMs: () => 90_000 });
  const one = all.begin(sourceOf('s'), 'u');
  const admitted = one.admit([at('192.0.2.1'), at('192.0.2.2')], 5432, signal);
  const isOver = one.end(new HubError('SOURCE_UNREACHABLE', 'The connect timeout expired.'));
  const stopped = all.stop(async () => {});
  asked.resolve();
  await expect(admitted).rejects.toThrow('already failed');
  await isOver;
  await stopped;
  expect(ended).toEqual(Array(2).fill({ returned: 1, failed: 0 }));
  await expect(one.admit([at('192.0.2.3')], 5432, signal)).rejects.toThrow('already failed');
});

it('does not wait for itself at a second port of a full address', async () => {
  let granted = 0;
  const takeLogin: LoginCounter['takeLogin'] = async () => {
    const grant = granted++ === 0 ? LoginGrant.LOGIN_GRANT_COUNTED : LoginGrant.LOGIN_GRANT_REFUSED;
    return { grants: [grant], minute: 1, retryAfterMs: 30_000 };
  };
  const all = new LoginAttempts({
    catalog: { takeLogin, endLogin: async () => ({}) },
    nowMs: () => 90_000,
  });
  const one = all.begin(sourceOf('s'), 'u');
  await one.admit([at('192.0.2.1')], 5432, signal);
  await expect(one.admit([at('192.0.2.1')], 5433, signal)).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
});

describe('while log-ins of other executors are in progress', () => {
  /** A catalog that asks to wait for so many times. */
  const busy = (times: number) => {
    const asked: string[] = [];
    const takeLogin: LoginCounter['takeLogin'] = async ({ sourceId, targets }) => {
      asked.push(sourceId);
      const grant = asked.length > times ? LoginGrant.LOGIN_GRANT_COUNTED : LoginGrant.LOGIN_GRANT_WAIT;
      return { grants: targets.map(() => grant), minute: 1, retryAfterMs: 30_000 };
    };
    const all = new LoginAttempts({
      catalog: { takeLogin, endLogin: async () => ({}) },
      nowMs: () => 90_000,
    });
    return { all, asked };
  };

  it('asks again until one of them made room', async () => {
    const { all, asked } = busy(2);
    expect(await attempt(all, {})).toBeUndefined();
    expect(asked).toHaveLength(3);
  });

  it('asks no longer than a connection may take', async () => {
    const { all } = busy(Infinity);
    const one = all.begin(sourceOf('s'), 'u');
    const admitted = one.admit([at('192.0.2.1')], 5432, AbortSignal.timeout(20));
    await expect(admitted).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

it('counts log-ins behind a bastion by host and user, and all of them at the address of the bastion', async () => {
  const all = create();
  const behind = async (host: string, user: string) => {
    const one = all.begin(sourceOf('s'), user);
    const place = { address: '192.0.2.1', behind: host };
    const refusal = await one.admit([place], 5432, signal).then(
      () => undefined,
      (err) => err,
    );
    if (refusal === undefined) one.reached(place, 5432);
    await one.end(refusal ?? wrong);
    return refusal?.code;
  };
  for (let i = 0; i < 5; i++) expect(await behind('db', 'u')).toBeUndefined();
  expect(await behind('db', 'u')).toBe('SOURCE_AUTH');
  expect(await behind('other', 'u')).toBeUndefined();
  // Other names of the same server do not help.
  for (let i = 6; i < 20; i++) expect(await behind(`db${i}`, 'u')).toBeUndefined();
  expect(await behind('db20', 'u')).toBe('SOURCE_AUTH');
});
