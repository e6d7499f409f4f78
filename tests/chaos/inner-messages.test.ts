import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';

/** The chart's, in MiB. */
const limits = { catalog: 512, executor: 768, ml: 1_024 };
const paths = {
  catalog: '/datahub.catalog.v1.CatalogService/CreateHub',
  executor: '/datahub.executor.v1.ExecutorService/TestSource',
  ml: '/datahub.ml.v1.MlService/Train',
};

describe('large messages to the ports between services', () => {
  let dir: string;
  let hub: DistributedHub;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-inner-messages-'));
    hub = await startDistributed(
      {
        PORT: '0',
        DATAHUB_METRICS_PORT: '0',
        DATAHUB_DATA_DIR: dir,
        DATAHUB_API_KEY: `test-key-${randomBytes(24).toString('hex')}`,
        DATAHUB_EDGE: 'none',
      },
      'ignore',
    );
  });
  afterAll(async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it('are not read without the token: 40 of 60 MB at once leave each service within its memory', async () => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(60_000_000, 1);
    const part = Buffer.alloc(1_000_000);
    const send = (address: string, path: string) =>
      new Promise<void>((resolve) => {
        const session = connect(`http://${address}`).on('error', () => {});
        const stream = session.request({
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/grpc',
        });
        stream.on('error', () => {}).on('close', () => resolve(session.destroy()));
        stream.resume().setTimeout(5_000, () => stream.close());
        Readable.from([head, ...Array.from({ length: 60 }, () => part)]).pipe(stream);
      });
    for (const [name, limitMiB] of Object.entries(limits) as [keyof typeof limits, number][]) {
      await Promise.all(Array.from({ length: 40 }, () => send(hub.addresses[name], paths[name])));
      const status = readFileSync(`/proc/${hub.pidOf(name, 0)}/status`, 'utf8');
      const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024;
      expect([name, peakMiB < limitMiB, peakMiB]).toEqual([name, true, peakMiB]);
    }
  });
});
