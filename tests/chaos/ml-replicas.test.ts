import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createGrpcClient, type GrpcClient } from '@datahub/service-kit/grpc/client';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const server = process.env.MONGODB_URL;
const serviceToken = randomBytes(24).toString('hex');
const main = fileURLToPath(new URL('../../services/ml/src/main.ts', import.meta.url));

interface Replica {
  process: ChildProcess;
  client: GrpcClient<typeof MlServiceService>;
}

const principal = { accountId: 'account', keyId: 'key', scopes: ['*'], limits: undefined };
const ctx = () => createCallContext({ timeoutMs: 10_000, principal });

describe.skipIf(server === undefined)('two ml processes on one store (needs MONGODB_URL)', () => {
  const url = new URL(server ?? 'mongodb://none/');
  url.pathname = `/chaos_${randomBytes(6).toString('hex')}`;
  const replicas: Replica[] = [];

  const start = async (): Promise<Replica> => {
    const port = await freePort();
    const child = spawn(process.execPath, [main], {
      stdio: 'ignore',
      env: {
        ...process.env,
        DATAHUB_GRPC_PORT: String(port),
        DATAHUB_METRICS_PORT: '0',
        DATAHUB_SERVICE_TOKEN: serviceToken,
        DATAHUB_STORE_URL: url.href,
        DATAHUB_LOG_LEVEL: 'fatal',
      },
    });
    const address = `127.0.0.1:${port}`;
    const client = createGrpcClient(MlServiceService, { address, serviceToken });
    const deadline = Date.now() + 60_000;
    while ((await client.probe(500)) !== 'serving') {
      if (Date.now() > deadline) throw new Error('The ml service did not serve in time.');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return { process: child, client };
  };

  beforeAll(async () => {
    replicas.push(...(await Promise.all([start(), start()])));
  });
  afterAll(() => {
    for (const { process: child, client } of replicas) {
      client.close();
      child.kill('SIGKILL');
    }
  });

  const calls = (i: number) => (replicas[i] as Replica).client.calls;

  it('use what the other learnt in the very next prediction', async () => {
    const { classifier } = await calls(0).createClassifier({ name: 'both' }, ctx());
    const classifierId = classifier?.classifierId ?? '';
    for (let i = 0; i < 20; i++) {
      const label = `label ${i}`;
      await calls(i % 2).train(
        { classifierId, examples: [{ label, context: `word${i} word${i}` }], eventId: '' },
        ctx(),
      );
      const { predictions } = await calls((i + 1) % 2).predict(
        { classifierId, contexts: [`word${i}`] },
        ctx(),
      );
      expect(predictions[0]?.scores.map((score) => score.label)).toContain(label);
    }
  });

  it('count every acknowledged example exactly once, though one of them is killed', async () => {
    const { classifier } = await calls(0).createClassifier({ name: 'killed' }, ctx());
    const classifierId = classifier?.classifierId ?? '';
    const acknowledged = new Set<string>();
    const uncertain = new Set<string>();
    let stop = false;
    const trainer = async (number: number) => {
      for (let i = 0; !stop; i++) {
        const eventId = `${number}-${i}`;
        const request = { classifierId, examples: [{ label: 'all', context: `text ${eventId}` }], eventId };
        // A call that was cut off is asked again with the same event id, of whoever is left.
        for (let attempt = 0; !acknowledged.has(eventId) && attempt < 50; attempt++) {
          const at = attempt === 0 ? number % 2 : 1;
          await calls(at)
            .train(request, ctx())
            .then(
              () => acknowledged.add(eventId),
              () => uncertain.add(eventId),
            );
        }
      }
    };
    const training = Promise.all(Array.from({ length: 50 }, (_, number) => trainer(number)));
    const count = { timeout: 60_000, interval: 10 };
    await expect.poll(() => acknowledged.size, count).toBeGreaterThan(60);
    (replicas[0] as Replica).process.kill('SIGKILL');
    await once((replicas[0] as Replica).process, 'close');
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size, count).toBeGreaterThan(before + 60);
    stop = true;
    await training;
    const { classifier: read } = await calls(1).getClassifier({ classifierId }, ctx());
    expect(uncertain.size).toBeGreaterThan(0);
    expect(read?.classes[0]?.observations).toBe(acknowledged.size);
  });
});
