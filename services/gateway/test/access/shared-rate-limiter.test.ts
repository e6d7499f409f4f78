import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRateLimiter, networkOf } from '../../src/access/rate-limiter.ts';
import { createSharedRateLimiter } from '../../src/access/shared-rate-limiter.ts';

const reply = { header: () => reply } as unknown as FastifyReply;
const limited = expect.objectContaining({ code: 'RATE_LIMITED' });

describe('what several gateways count together', () => {
  let at: number;
  let taken: Map<string, number>;
  let away: boolean;

  /** The counter that the catalog keeps: one for a key and minute. */
  const takeRequests = async (
    { perMinute, count }: { perMinute: number; count: number },
    { principal }: CallContext,
  ) => {
    if (away) throw new HubError('UNAVAILABLE', 'away');
    const id = `${principal?.accountId}/${principal?.keyId}/${Math.floor(at / 60_000)}`;
    const all = (taken.get(id) ?? 0) + count;
    taken.set(id, all);
    const granted = Math.max(0, count - Math.max(0, all - perMinute));
    return { granted, left: Math.max(0, perMinute - all), resetMs: 60_000 - (at % 60_000) };
  };

  const gateway = (unknownKeysPerMinute = 100) => {
    const options = { ratePerMinute: 0, unknownKeysPerMinute, now: () => at };
    return createSharedRateLimiter({
      ...options,
      catalog: { takeRequests },
      local: createRateLimiter(options),
    });
  };
  type Limits = ReturnType<typeof gateway>;

  /** One bad key: true where it was looked at. */
  const guess = async (limits: Limits, address: string): Promise<boolean> => {
    try {
      limits.requireFewRefusals(address, 'chosen');
    } catch (err) {
      expect(err).toEqual(limited);
      return false;
    }
    await limits.noteRefusedKey(address, 'chosen');
    return true;
  };

  beforeEach(() => {
    at = 120_000;
    taken = new Map();
    away = false;
  });

  it('are the bad keys of an address, to within a tenth, however it spreads them', async () => {
    for (const skew of [1, 2, 10]) {
      const gateways = [gateway(), gateway(), gateway()];
      let admitted = 0;
      for (let i = 0; i < 400; i++) {
        const of = gateways[i % skew === 0 ? 0 : 1 + (i % 2)] as Limits;
        if (await guess(of, `10.0.0.${skew}`)) admitted++;
      }
      expect(Math.abs(admitted - 100)).toBeLessThanOrEqual(10);
      for (const one of gateways) expect(await guess(one, `10.0.1.${skew}`)).toBe(true);
    }
    expect([...taken.keys()].every((id) => id.startsWith('unknown-keys/'))).toBe(true);
  });

  it('are many that come at once, and the address is let in again with the next minute', async () => {
    const gateways = [gateway(), gateway()];
    const burst = async (count: number) => {
      const looked = await Promise.all(
        Array.from({ length: count }, (_, i) => guess(gateways[i % 2] as Limits, '10.0.0.1')),
      );
      return looked.filter(Boolean).length;
    };
    let admitted = 0;
    for (let i = 0; i < 20; i++) admitted += await burst(10);
    expect(Math.abs(admitted - 100)).toBeLessThanOrEqual(10);
    at += 60_000;
    expect(await burst(10)).toBe(10);
  });

  it('allow a client that sends some at once, and admit few before they are counted', async () => {
    const burst = async (count: number, address: string) => {
      const limits = gateway(1_000);
      await guess(limits, address);
      return (await Promise.all(Array.from({ length: count }, () => guess(limits, address)))).filter(Boolean);
    };
    expect(await burst(50, '10.0.0.1')).toHaveLength(50);
    expect((await burst(900, '10.0.0.2')).length).toBeLessThan(200);
  });

  it('fall back to what each counts by itself while the catalog is away', async () => {
    away = true;
    const gateways = [gateway(), gateway()];
    let admitted = 0;
    for (let i = 0; i < 400; i++) if (await guess(gateways[i % 2] as Limits, '10.0.0.1')) admitted++;
    expect(admitted).toBe(200);
  });

  it('make no request wait while the catalog is away, and are counted together once it is back', async () => {
    const calls: PromiseWithResolvers<void>[] = [];
    const options = { ratePerMinute: 0, unknownKeysPerMinute: 100, now: () => at };
    const limits = createSharedRateLimiter({
      ...options,
      catalog: {
        takeRequests: async (...request) => {
          const call = Promise.withResolvers<void>();
          calls.push(call);
          await call.promise;
          return takeRequests(...(request as Parameters<typeof takeRequests>));
        },
      },
      local: createRateLimiter(options),
    });
    const bounds = {
      hubIds: [],
      queryIds: [],
      classifierIds: [],
      queries: [],
      origins: [],
      contextJson: '',
      ratePerMinute: 50,
    };
    const principal = { accountId: 'a', keyId: 'k', scopes: [], limits: bounds };
    const first = limits.admit(principal, reply);
    calls[0]?.reject(new HubError('UNAVAILABLE', 'away'));
    await first;
    for (let i = 0; i < 3; i++) {
      at += 600;
      expect(limits.admit(principal, reply)).toBeUndefined();
    }
    expect(calls).toHaveLength(2);
    calls[1]?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(limits.admit(principal, reply)).toBeUndefined();
    expect([...taken.values()]).toEqual([1]);
  });

  it('let the requests that wait for one answer go on in several turns', async () => {
    const answer = Promise.withResolvers<void>();
    const options = { ratePerMinute: 1_000, unknownKeysPerMinute: 100, now: () => at };
    const limits = createSharedRateLimiter({
      ...options,
      catalog: { takeRequests: (...args) => answer.promise.then(() => takeRequests(...args)) },
      local: createRateLimiter(options),
    });
    const principal = { accountId: 'a', keyId: 'k', scopes: [], limits: undefined };
    let gone = 0;
    const goOn = () => {
      gone++;
    };
    const all = Array.from({ length: 200 }, async () => {
      await limits.admit(principal, reply);
      goOn();
    });
    const refused = Array.from({ length: 200 }, async () => {
      await limits.noteRefusedKey('1.2.3.4', 'chosen');
      goOn();
    });
    answer.resolve();
    await new Promise(setImmediate);
    expect(gone).toBeLessThan(100);
    await Promise.all([...all, ...refused]);
  });

  it('do not let one address hold up another, and one IPv6 network is one address', async () => {
    const one = gateway(10);
    for (let i = 0; i < 20; i++) await guess(one, `2001:db8:0:1::${i.toString(16)}`);
    expect(await guess(one, '2001:db8:0:1:ffff::1')).toBe(false);
    expect(await guess(one, '2001:db8:0:2::1')).toBe(true);
    for (let i = 0; i < 20; i++) await guess(one, '::ffff:10.0.0.1');
    expect(await guess(one, '10.0.0.1')).toBe(false);
    expect(await guess(one, '10.0.0.2')).toBe(true);
  });

  it('are a key’s requests, for each key by itself', async () => {
    const gateways = [gateway(), gateway()];
    const ask = async (keyId: string, i: number) => {
      const limits = {
        hubIds: [],
        queryIds: [],
        classifierIds: [],
        queries: [],
        origins: [],
        contextJson: '',
        ratePerMinute: 50,
      };
      const principal = { accountId: 'a', keyId, scopes: [], limits };
      try {
        await (gateways[i % 2] as Limits).admit(principal, reply);
        return true;
      } catch (err) {
        expect(err).toEqual(limited);
        return false;
      }
    };
    for (const keyId of ['k', 'l']) {
      let admitted = 0;
      for (let i = 0; i < 100; i++) if (await ask(keyId, i)) admitted++;
      expect(admitted).toBe(50);
    }
    at += 60_000;
    expect(await ask('k', 0)).toBe(true);
  });
});

it.each([
  ['1.2.3.4', '1.2.3.4'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:1.2.3.4', '1.2.3.4'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s stands for %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
