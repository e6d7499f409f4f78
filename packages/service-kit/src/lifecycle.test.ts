import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubError } from './error.ts';
import { whyNotStarted } from './lifecycle.ts';
import { readSettings } from './settings.ts';

describe('why a process does not start', () => {
  const taken = createServer();
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    ({ port } = taken.address() as AddressInfo);
  });
  afterAll(() => taken.close());

  it('names the port that is taken, and the settings that choose another', async () => {
    const listen = new Promise((_, reject) => createServer().on('error', reject).listen(port, '127.0.0.1'));
    const why = whyNotStarted(await listen.catch((err) => err));
    expect(why).toMatch(new RegExp(`^The port 127.0.0.1:${port} is taken by another program.*PORT`));
    const bind = new Promise((_, reject) =>
      new Server().bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (err) => reject(err)),
    );
    expect(whyNotStarted(await bind.catch((err) => err))).toBe(why);
  });

  it('is told without a stack where the operator can mend it', () => {
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:1');
    expect(whyNotStarted(new HubError('UNAVAILABLE', 'The store cannot be reached now.', { cause }))).toBe(
      'It cannot start. The store cannot be reached now. (connect ECONNREFUSED 127.0.0.1:1)',
    );
    const refused = Object.assign(new Error("EACCES: permission denied, mkdir '/data'"), {
      syscall: 'mkdir',
    });
    expect(whyNotStarted(refused)).toBe("It cannot start. EACCES: permission denied, mkdir '/data'");
  });

  it('names each fault of the settings once', () => {
    const read = () =>
      readSettings({ A: 'x' }, (reader) =>
        [1, 2].map(() => reader.integer('A', { fallback: 0, min: 0, max: 1 })),
      );
    expect(read).toThrow(/^The settings do not fit:\n {2}- A must be a whole number from 0 to 1\.$/);
  });

  it('keeps the stack of a fault of our own', () => {
    expect(whyNotStarted(new TypeError('x is not a function'))).toContain('lifecycle.test.ts');
  });
});
