import { spawnSync } from 'node:child_process';
import fs, { existsSync, openSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogOutput } from '../../src/telemetry/log-output.ts';

const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

describe('an output that takes nothing for a while', () => {
  let written: string;
  /** How many bytes it takes; undefined for all. */
  let room: number | undefined;
  const take = (bytes: Uint8Array): number => {
    if (room === 0) throw full;
    const taken = bytes.subarray(0, room);
    if (room !== undefined) room -= taken.length;
    written += Buffer.from(taken).toString();
    return taken.length;
  };
  beforeEach(() => {
    [written, room] = ['', undefined];
    vi.spyOn(fs, 'write').mockImplementation(((_: number, bytes: Uint8Array, done: WriteDone) => {
      setImmediate(() => {
        try {
          done(null, take(bytes));
        } catch (err) {
          done(err as Error, 0);
        }
      });
    }) as never);
    vi.spyOn(fs, 'writeSync').mockImplementation(((_: number, bytes: Uint8Array) => take(bytes)) as never);
    syncBuiltinESMExports();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  type WriteDone = (err: Error | null, written: number) => void;
  const open = () =>
    new LogOutput({ describeLost: (lines) => `${lines} lost\n`, waitingBytesMax: 20, retryMs: 1 });
  const line = (text: string) => Buffer.from(`${text}\n`);

  it('gets the lines later, whole and in their order', async () => {
    const output = open();
    room = 5;
    for (const text of ['one', 'two', 'three']) output.write(line(text));
    await vi.waitFor(() => expect(room).toBe(0));
    expect(written).toBe('one\nt');
    room = undefined;
    await vi.waitFor(() => expect(written).toBe('one\ntwo\nthree\n'));
  });

  it('gets as many as memory has room for, and how many are missing', async () => {
    const output = open();
    room = 0;
    for (let i = 10; i < 30; i++) output.write(line(`n ${i}`));
    room = undefined;
    await vi.waitFor(() => expect(written).toBe('n 10\nn 11\nn 12\nn 13\n16 lost\n'));
    output.write(line('after'));
    await vi.waitFor(() => expect(written).toMatch(/16 lost\nafter\n$/));
  });

  it('gets the rest at the end of the process, or nothing, at once', () => {
    for (const [bytes, expected] of [
      [undefined, 'last\n'],
      [0, ''],
    ] as const) {
      [written, room] = ['', 0];
      const output = open();
      output.write(line('in progress'));
      output.write(line('last'));
      room = bytes;
      output.endSync();
      expect(written).toBe(expected);
    }
  });
});

it.skipIf(!existsSync('/dev/full')).each([false, true])(
  'a process that writes to a full disk goes on and ends (pretty: %s)',
  (pretty) => {
    const at = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const program = `
      const { createLogger } = await import(${at('telemetry/logger.ts')});
      const { runProcess } = await import(${at('process/lifecycle.ts')});
      const log = createLogger({ service: 'hub', level: 'info', pretty: ${pretty} });
      await runProcess({ start: async () => ({ close: async () => {} }) });
      for (let i = 0; i < 3; i++) {
        log.info('a line');
        process.stderr.write('a word');
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      process.exit(7);`;
    const disk = openSync('/dev/full', 'w');
    const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', disk, disk],
      timeout: 20_000,
    });
    expect(status).toBe(7);
  },
);
