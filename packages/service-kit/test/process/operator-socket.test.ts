import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HubError } from '../../src/call/error.ts';
import type { Closable } from '../../src/closers.ts';
import {
  type OperatorCall,
  openOperatorSocket,
  sendOperatorCommand,
} from '../../src/process/operator-socket.ts';
import { createLogger } from '../../src/telemetry/logger.ts';

const logger = createLogger({ service: 'test', level: 'silent', pretty: false });

describe('the operator’s socket', () => {
  let dir: string;
  let path: string;
  let opened: Closable | undefined;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'operator-socket-'));
    path = join(dir, 'operator', 'socket');
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
    rmSync(dir, { recursive: true });
  });

  const open = async (handle: (request: unknown, call: OperatorCall) => Promise<unknown>) => {
    opened = await openOperatorSocket({ path, handle, logger });
  };

  it('reports progress before the result', async () => {
    await open(async (request, { onProgress }) => {
      onProgress({ share: 0.5 });
      return { request };
    });
    const reported: object[] = [];
    const onProgress = (progress: object) => reported.push(progress);
    expect(await sendOperatorCommand(path, { a: 'ü' }, { onProgress })).toEqual({ request: { a: 'ü' } });
    expect(reported).toEqual([{ share: 0.5 }]);
  });

  it('has a path that is longer than the address of a socket', async () => {
    path = join(dir, 'd'.repeat(100), 'operator', 'socket');
    expect(await sendOperatorCommand(path, {})).toBeUndefined();
    await open(async (request) => ({ request }));
    expect(await sendOperatorCommand(path, { a: 1 })).toEqual({ request: { a: 1 } });
  });

  it('passes on the messages of expected errors only', async () => {
    await open(async (request) => {
      throw (request as { own: boolean }).own
        ? new HubError('CONFLICT', 'It is there.')
        : new Error('s3cret');
    });
    await expect(sendOperatorCommand(path, { own: true })).rejects.toThrow('It is there.');
    await expect(sendOperatorCommand(path, { own: false })).rejects.toThrow('See the log of the hub');
  });

  it('is undefined to the client if no hub listens', async () => {
    expect(await sendOperatorCommand(path, {})).toBeUndefined();
    writeFileSync(join(dir, 'file'), '');
    expect(await sendOperatorCommand(join(dir, 'file'), {})).toBeUndefined();
  });

  it('tells a client that cancels its command only when the command has ended', async () => {
    const ended: string[] = [];
    await open(async (request, { signal }) => {
      const { name } = request as { name: string };
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended.push(name);
      throw new HubError('UNAVAILABLE', 'It was stopped.');
    });
    const leaving = new AbortController();
    const other = sendOperatorCommand(path, { name: 'other' });
    const refused = expect(other).rejects.toThrow('It was stopped.');
    const left = sendOperatorCommand(path, { name: 'left' }, { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 50);
    await expect(left).rejects.toThrow('The command was cancelled.');
    expect(ended).toEqual(['left']);
    await opened?.close();
    await refused;
  });

  it('cancels a command whose client is gone, and all commands when it closes', async () => {
    const ends: Promise<void>[] = [];
    await open((_request, { onProgress, signal }) => {
      const reporting = setInterval(() => onProgress({}), 10);
      const end = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      ends.push(end);
      return end.then(() => {
        clearInterval(reporting);
        throw new HubError('UNAVAILABLE', 'It was stopped.');
      });
    });
    const leaving = new AbortController();
    const left = sendOperatorCommand(path, {}, { signal: leaving.signal });
    const staying = sendOperatorCommand(path, {});
    const told = Promise.all([
      expect(left).rejects.toThrow('The command was cancelled.'),
      expect(staying).rejects.toThrow('It was stopped.'),
    ]);
    await expect.poll(() => ends.length).toBe(2);
    leaving.abort();
    await ends[0];
    await opened?.close();
    await told;
  });
});
