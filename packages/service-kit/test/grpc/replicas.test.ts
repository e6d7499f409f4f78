import { afterEach, expect, it, vi } from 'vitest';
import { openReplicas, type Replicas } from '../../src/grpc/replicas.ts';

let replicas: Replicas<string> | undefined;
afterEach(() => replicas?.close());

const refreshMs = 5;

function start(addresses: string[], options: { ips: string[]; isIdle?: (replica: string) => boolean }) {
  const closed: string[] = [];
  const opening = openReplicas({
    addresses,
    open: (address, host) => `${host} at ${address}`,
    close: (replica) => closed.push(replica),
    lookUp: async (host) => {
      if (host === 'missing') throw new Error('ENOTFOUND');
      return options.ips;
    },
    refreshMs,
    ...(options.isIdle ? { isIdle: options.isIdle } : {}),
  });
  return opening.then((opened) => {
    replicas = opened;
    return { closed, addresses: () => [...opened.current.keys()] };
  });
}

it('finds every address behind a name, and leaves out a name that cannot be looked up', async () => {
  const { addresses } = await start(['executor:7002', 'missing:1'], { ips: ['10.0.0.1', '10.0.0.2'] });
  expect(addresses()).toEqual(['10.0.0.1:7002', '10.0.0.2:7002']);
  expect(replicas?.current.get('10.0.0.1:7002')).toBe('executor at 10.0.0.1:7002');
});

it('opens replicas that come, and closes those that go once they are idle', async () => {
  const options = { ips: ['10.0.0.1'], isIdle: () => idle };
  let idle = false;
  const { closed, addresses } = await start(['executor:7002'], options);
  options.ips = ['10.0.0.2'];
  await vi.waitFor(() => expect(addresses()).toEqual(['10.0.0.2:7002']), 60_000);
  expect(closed).toEqual([]);
  idle = true;
  await vi.waitFor(() => expect(closed).toEqual(['executor at 10.0.0.1:7002']), 60_000);
});

it('keeps its replicas while nothing can be looked up', async () => {
  const options = { ips: ['10.0.0.1'] };
  const { addresses, closed } = await start(['executor:7002'], options);
  options.ips = [];
  await new Promise((resolve) => setTimeout(resolve, 10 * refreshMs));
  expect(addresses()).toEqual(['10.0.0.1:7002']);
  replicas?.close();
  replicas?.close();
  expect(closed).toEqual(['executor at 10.0.0.1:7002']);
});

it('takes IP addresses without a look-up of names', async () => {
  replicas = await openReplicas({
    addresses: ['127.0.0.1:7002', '127.0.0.2:7002'],
    open: (address) => address,
    close: () => {},
  });
  expect([...replicas.current.keys()]).toEqual(['127.0.0.1:7002', '127.0.0.2:7002']);
});
