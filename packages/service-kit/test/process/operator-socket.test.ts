import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HubError } from '../../src/call/error.ts';
import type { Closable } from '../../src/process/lifecycle.ts';
import { type Asking, askOperatorSocket, openOperatorSocket } from '../../src/process/operator-socket.ts';
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

  const open = async (answer: (asked: unknown, asking: Asking) => Promise<unknown>) => {
    opened = await openOperatorSocket({ path, answer, logger });
  };

  it('tells how far it is before it answers', async () => {
    await open(async (asked, { tell }) => {
      tell({ share: 0.5 });
      return { asked };
    });
    const told: object[] = [];
    const onProgress = (progress: object) => told.push(progress);
    expect(await askOperatorSocket(path, { a: 'ü' }, { onProgress })).toEqual({ asked: { a: 'ü' } });
    expect(told).toEqual([{ share: 0.5 }]);
  });

  it('tells refusals in their words, and of other failures nothing', async () => {
    await open(async (asked) => {
      throw (asked as { own: boolean }).own ? new HubError('CONFLICT', 'It is there.') : new Error('s3cret');
    });
    await expect(askOperatorSocket(path, { own: true })).rejects.toThrow('It is there.');
    await expect(askOperatorSocket(path, { own: false })).rejects.toThrow('its log says why');
  });

  it('is told of by nobody where none listens', async () => {
    expect(await askOperatorSocket(path, {})).toBeUndefined();
    writeFileSync(join(dir, 'file'), '');
    expect(await askOperatorSocket(join(dir, 'file'), {})).toBeUndefined();
  });

  it('ends what whoever asked has left, and all of it when it closes', async () => {
    const ends: Promise<void>[] = [];
    await open((_asked, { tell, signal }) => {
      const telling = setInterval(() => tell({}), 10);
      const end = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      ends.push(end);
      return end.then(() => {
        clearInterval(telling);
        throw new HubError('UNAVAILABLE', 'It was stopped.');
      });
    });
    const leaving = new AbortController();
    const left = askOperatorSocket(path, {}, { signal: leaving.signal });
    const staying = askOperatorSocket(path, {});
    const told = Promise.all([
      expect(left).rejects.toThrow('It was broken off.'),
      expect(staying).rejects.toThrow('It was stopped.'),
    ]);
    await expect.poll(() => ends.length).toBe(2);
    leaving.abort();
    await ends[0];
    await opened?.close();
    await told;
  });
});
