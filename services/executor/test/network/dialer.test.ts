import { type EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import {
  type AddressPolicySettings,
  createAddressPolicy,
  type Resolve,
} from '../../src/network/address-policy.ts';
import { createDial, type DialOptions } from '../../src/network/dialer.ts';
import { loopback, never, privates } from '../cases/addresses.ts';

const embedded: AddressPolicySettings = {
  loopbackAllowed: true,
  privateAllowed: true,
  allow: [],
  deny: [],
  ownNames: [],
};
const strict = { ...embedded, loopbackAllowed: false, privateAllowed: false };
const opened: { destroy(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.destroy();
});

/** Sockets that never touch the network: `fate` decides what becomes of each address. */
function spyDial(options: {
  settings?: AddressPolicySettings;
  resolve: Resolve;
  fate?: (address: string) => 'connect' | 'late' | 'refuse' | 'silence';
  connectTimeoutMs?: number;
  staggerMs?: number;
  owns?: DialOptions['owns'];
  logins?: DialOptions['logins'];
}) {
  const dialled: string[] = [];
  const sockets: Socket[] = [];
  const dial = createDial({
    policy: createAddressPolicy(options.settings ?? strict, options.resolve),
    accountId: 'account',
    connectTimeoutMs: options.connectTimeoutMs ?? 2_000,
    staggerMs: options.staggerMs ?? 10,
    ...(options.owns && { owns: options.owns }),
    logins: options.logins,
    connect: ({ address }) => {
      dialled.push(address);
      const socket = new Socket();
      sockets.push(socket);
      const fate = options.fate?.(address) ?? 'connect';
      if (fate === 'connect') setImmediate(() => socket.emit('connect'));
      if (fate === 'late') setTimeout(() => socket.emit('connect'), 400);
      if (fate === 'refuse') setImmediate(() => socket.destroy(new Error(`ECONNREFUSED ${address}`)));
      return socket;
    },
  });
  return { dial, dialled, sockets };
}

const idle = { signal: new AbortController().signal };

test('a forbidden target is never dialled, in whatever form, alone or among others', async () => {
  const forms = [...never, ...loopback, ...privates];
  expect(forms.length).toBeGreaterThanOrEqual(120);
  for (const address of forms) {
    for (const answers of [[address], ['8.8.8.8', address], [address, '8.8.8.8']]) {
      const { dial, dialled } = spyDial({ resolve: async () => answers });
      await expect(dial('db.example', 5432, idle)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
      await expect(dial(address, 5432, idle)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
      expect(dialled).toEqual([]);
    }
  }
});

test('a resolver that answers otherwise each time never gets a forbidden address dialled', async () => {
  const good = ['8.8.8.8', '1.1.1.1', '2606:4700::1'];
  const forbidden = [...never, ...loopback, ...privates];
  const address = fc.oneof(fc.constantFrom(...good), fc.constantFrom(...forbidden));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(address, { maxLength: 4 }), { minLength: 1 }), async (answers) => {
      let asked = 0;
      const resolve = async () => answers[asked++] ?? [];
      // Whatever is dialled refuses, so that every address of an answer has its turn.
      const { dial, dialled } = spyDial({ resolve, fate: () => 'refuse' });
      for (const answer of answers) {
        dialled.length = 0;
        await dial('db.example', 5432, idle).catch(() => {});
        const allowed = answer.every((one) => good.includes(one));
        expect(dialled.toSorted()).toEqual(allowed ? answer.toSorted() : []);
      }
    }),
    { numRuns: 200 },
  );
});

test('a resolver that changes its answer between two calls changes nothing', async () => {
  const answers = [['8.8.8.8'], ['127.0.0.1']];
  let asked = 0;
  const resolve = async () => answers[asked++] ?? [];
  const first = spyDial({ resolve });
  await first.dial('db.example', 5432, idle);
  expect([asked, first.dialled]).toEqual([1, ['8.8.8.8']]);
  const reconnect = spyDial({ resolve });
  await expect(reconnect.dial('db.example', 5432, idle)).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
  });
  expect([asked, reconnect.dialled]).toEqual([2, []]);
});

test('a side connection goes to the very server that the first call reached', async () => {
  const answers = [['1.1.1.1', '8.8.8.8'], ['9.9.9.9']];
  let asked = 0;
  const { dial, dialled } = spyDial({
    resolve: async () => answers[asked++] ?? [],
    fate: (address) => (address === '1.1.1.1' ? 'refuse' : 'connect'),
  });
  await dial('db.example', 5432, idle);
  await dial('db.example', 5432, idle);
  expect([asked, dialled]).toEqual([1, ['1.1.1.1', '8.8.8.8', '8.8.8.8']]);
});

test('a name is looked up for the account of the source, which may call it off', async () => {
  const asked: unknown[] = [];
  const resolve: Resolve = (_, { accountId, signal }) => {
    asked.push(accountId, signal.aborted);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const controller = new AbortController();
  const { dial } = spyDial({ resolve, connectTimeoutMs: 600_000 });
  const dialling = dial('db.example', 5432, { signal: controller.signal });
  await vi.waitFor(() => expect(asked).toEqual(['account', false]));
  controller.abort(new Error('gone'));
  await expect(dialling).rejects.toMatchObject({ cause: { message: 'gone' } });
});

test('a look-up that is to be repeated asks the resolver, and does not change where later calls go', async () => {
  const answers = [['1.1.1.1'], ['8.8.8.8']];
  let asked = 0;
  const { dial, dialled } = spyDial({ resolve: async () => answers[asked++] ?? [] });
  await dial('db.example', 5432, idle);
  await dial('db.example', 5432, { ...idle, resolveAgain: true });
  await dial('db.example', 5432, idle);
  expect(dialled).toEqual(['1.1.1.1', '8.8.8.8', '1.1.1.1']);
});

test('a port that the hub itself listens on is never dialled, and looks like a closed one', async () => {
  const owns = (address: string, port: number) => address === '127.0.0.1' && port === 1080;
  const answers = { one: ['127.0.0.1'], among: ['127.0.0.2', '127.0.0.1'] };
  const resolve = async (host: string) => answers[host as keyof typeof answers];
  const { dial, dialled } = spyDial({ settings: embedded, resolve, owns });
  for (const host of Object.keys(answers))
    await expect(dial(host, 1080, idle)).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      cause: { name: 'AddressRefused', message: 'The hub itself listens on the port.' },
    });
  expect(dialled).toEqual([]);
  await dial('one', 1081, idle);
  // The port is refused for an address that was reached before, too.
  await expect(dial('one', 1080, idle)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  expect(dialled).toEqual(['127.0.0.1']);
});

test('log-ins are admitted before the first connection, and only the admitted addresses are dialled', async () => {
  const admitted: unknown[] = [];
  const reached: unknown[] = [];
  const logins: NonNullable<DialOptions['logins']> = {
    admit: async (targets, port) => {
      admitted.push([targets.map(({ address }) => address), port]);
      return targets.slice(1);
    },
    reached: ({ address }, port) => {
      reached.push([address, port]);
    },
  };
  const { dial, dialled } = spyDial({ resolve: async () => ['1.1.1.1', '8.8.8.8', '9.9.9.9'], logins });
  await dial('db.example', 5432, idle);
  // A side connection of the same log-in is not another one.
  await dial('db.example', 5432, idle);
  expect(admitted).toEqual([[['1.1.1.1', '8.8.8.8', '9.9.9.9'], 5432]]);
  expect(dialled).toEqual(['8.8.8.8', '8.8.8.8']);
  expect(reached).toEqual([
    ['8.8.8.8', 5432],
    ['8.8.8.8', 5432],
  ]);
});

test('a refused log-in is reported as such, and any other error as a source that cannot be reached', async () => {
  const dialWith = (err: unknown) => {
    const logins = { admit: () => Promise.reject(err), reached: () => {} };
    return spyDial({ resolve: async () => ['8.8.8.8'], logins });
  };
  const refused = new HubError('SOURCE_AUTH', 'Too many log-ins failed.');
  const { dial, dialled } = dialWith(refused);
  await expect(dial('db.example', 5432, idle)).rejects.toBe(refused);
  expect(dialled).toEqual([]);
  for (const err of [
    new HubError('UNAVAILABLE', 'away'),
    Object.assign(new Error(), { code: 'SOURCE_AUTH' }),
  ])
    await expect(dialWith(err).dial('db.example', 5432, idle)).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      cause: err,
    });
});

test('a source whose log-ins do not end in time is busy, and nothing is dialled', async () => {
  const logins = {
    admit: (_targets: unknown, _port: number, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      ),
    reached: () => {},
  };
  const { dial, dialled } = spyDial({ resolve: async () => ['8.8.8.8'], logins, connectTimeoutMs: 30 });
  await expect(dial('db.example', 5432, idle)).rejects.toMatchObject({
    code: 'SOURCE_BUSY',
    retryable: true,
  });
  expect(dialled).toEqual([]);
});

test('refused by policy, closed port, unknown host and silence look alike', async () => {
  const cases = [
    spyDial({ resolve: async () => ['127.0.0.1'] }),
    spyDial({ resolve: async () => ['8.8.8.8'], fate: () => 'refuse' }),
    spyDial({ resolve: async () => Promise.reject(new Error('ENOTFOUND db.example')) }),
    spyDial({ resolve: async () => ['8.8.8.8'], fate: () => 'silence', connectTimeoutMs: 30 }),
    spyDial({ resolve: () => new Promise(() => {}), connectTimeoutMs: 30 }),
  ];
  const errors = await Promise.all(
    cases.map(({ dial }) => dial('db.example', 5432, idle).catch((err) => err)),
  );
  const outside = errors.map(({ code, message, stage, retryable, retryAfterMs }) => ({
    code,
    message,
    stage,
    retryable,
    retryAfterMs,
  }));
  for (const seen of outside) expect(seen).toEqual(outside[0]);
  expect(outside[0]?.message).not.toMatch(/db\.example|8\.8\.8\.8|127/);
});

test('a silent address costs one stagger, losers are destroyed', async () => {
  const fate = (address: string) => (address === '2606:4700::1' ? 'silence' : 'connect');
  const { dial, dialled, sockets } = spyDial({
    resolve: async () => ['2606:4700::1', '2606:4700::2', '1.1.1.1'],
    fate,
  });
  const socket = await dial('db.example', 5432, idle);
  expect(dialled).toEqual(['2606:4700::1', '1.1.1.1']);
  expect(socket).toBe(sockets[1]);
  expect(sockets[0]?.destroyed).toBe(true);
});

test('a refusing address hands on to the next at once', async () => {
  const { dial, dialled } = spyDial({
    resolve: async () => ['1.1.1.1', '8.8.8.8'],
    fate: (address) => (address === '1.1.1.1' ? 'refuse' : 'connect'),
  });
  await dial('db.example', 5432, idle);
  expect(dialled).toEqual(['1.1.1.1', '8.8.8.8']);
});

test('the next address has its turn at once after a refusal, and the last refusal ends it', async () => {
  const resolve = async () => ['1.1.1.1', '8.8.8.8', '9.9.9.9'];
  const slow = { resolve, staggerMs: 60_000, connectTimeoutMs: 5_000 };
  const one = spyDial({ ...slow, fate: (address) => (address === '9.9.9.9' ? 'connect' : 'refuse') });
  await one.dial('db.example', 5432, idle);
  expect(one.dialled).toEqual(['1.1.1.1', '8.8.8.8', '9.9.9.9']);
  const none = spyDial({ ...slow, fate: () => 'refuse' });
  await expect(none.dial('db.example', 5432, idle)).rejects.toMatchObject({
    cause: { message: 'ECONNREFUSED 9.9.9.9' },
  });
});

test('an address that refuses late does not end what another still tries', async () => {
  const fate = (address: string) => (address === '1.1.1.1' ? 'late' : 'refuse');
  const { dial, sockets } = spyDial({ resolve: async () => ['1.1.1.1', '8.8.8.8'], fate, staggerMs: 5 });
  expect(await dial('db.example', 5432, idle)).toBe(sockets[0]);
});

test('of two that connect the first is taken, and the other is closed and not waited for', async () => {
  const { dial, sockets, dialled } = spyDial({
    resolve: async () => ['1.1.1.1', '8.8.8.8', '9.9.9.9'],
    fate: (address) => (address === '1.1.1.1' ? 'late' : 'connect'),
    staggerMs: 5,
  });
  const socket = await dial('db.example', 5432, idle);
  expect(socket).toBe(sockets[1]);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(dialled).toEqual(['1.1.1.1', '8.8.8.8']);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  expect(socket.listenerCount('error')).toBe(0);
});

test('a connection has no delay and keep-alive set', async () => {
  const noDelay = vi.spyOn(Socket.prototype, 'setNoDelay');
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive');
  await spyDial({ resolve: async () => ['8.8.8.8'] }).dial('db.example', 5432, idle);
  expect(noDelay).toHaveBeenCalledWith(true);
  expect(keepAlive).toHaveBeenCalledWith(true, 30_000);
  vi.restoreAllMocks();
});

test('the error does not say why a source cannot be reached; the log does', async () => {
  const { dial } = spyDial({ resolve: async () => ['127.0.0.1'] });
  await expect(dial('db.example', 5432, idle)).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
    message:
      'The source cannot be reached. Check its host and port, and that it accepts connections from the hub.',
    stage: 'connect',
    retryable: true,
    cause: { name: 'AddressRefused', message: 'An address of the host is in a forbidden range (loopback).' },
  });
});

test('what was called off before is not begun', async () => {
  const gone = { signal: AbortSignal.abort(new Error('gone')) };
  let asked = 0;
  const resolve = () => {
    asked++;
    return new Promise<string[]>(() => {});
  };
  const { dial, dialled } = spyDial({ resolve, connectTimeoutMs: 5_000 });
  await expect(dial('db.example', 5432, gone)).rejects.toMatchObject({ cause: { message: 'gone' } });
  // Where the address is known already, too.
  const known = spyDial({ resolve: async () => ['8.8.8.8'], connectTimeoutMs: 5_000 });
  await known.dial('db.example', 5432, idle);
  await expect(known.dial('db.example', 5432, gone)).rejects.toMatchObject({ cause: { message: 'gone' } });
  expect([asked, dialled, known.dialled]).toEqual([1, [], ['8.8.8.8']]);
});

test('the caller can call it off', async () => {
  const controller = new AbortController();
  const { dial, sockets } = spyDial({
    resolve: async () => ['1.1.1.1'],
    fate: () => 'silence',
    connectTimeoutMs: 5_000,
  });
  const dialling = dial('db.example', 5432, { signal: controller.signal });
  setTimeout(() => controller.abort(), 5);
  await expect(dialling).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  expect(sockets.every(({ destroyed }) => destroyed)).toBe(true);
  await expect(dial('db.example', 5432, { signal: controller.signal })).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
  });
});

test('really connects to a loopback server, also by an odd form', async () => {
  const server = createServer((socket) => socket.end('hello'));
  opened.push({ destroy: () => server.close() });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const dial = createDial({
    policy: createAddressPolicy(embedded, async () => ['127.0.0.1']),
    accountId: 'account',
    connectTimeoutMs: 1_000,
  });
  for (const host of ['127.0.0.1', 'localhost', '127.1', '::ffff:127.0.0.1']) {
    const socket = await dial(host, port, idle);
    opened.push(socket);
    const [data] = await once(socket as EventEmitter, 'data');
    expect(String(data)).toBe('hello');
  }
});
