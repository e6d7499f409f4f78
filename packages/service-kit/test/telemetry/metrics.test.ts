import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '@datahub/service-kit/process/free-port';
import { expect, it } from 'vitest';
import { createRpcMetrics, serveMetrics } from '../../src/telemetry/metrics.ts';

it('serves calls by method and code, on /metrics alone', async () => {
  const metrics = createRpcMetrics();
  metrics.called('/datahub.ml.v1.MlService/Predict', 'OK', 3);
  metrics.called('/datahub.ml.v1.MlService/Predict', 'NOT_FOUND', 1);
  const served = await serveMetrics(metrics.text, { host: '127.0.0.1', port: await freePort() });
  const url = `http://127.0.0.1:${served.port}`;
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toContain('# TYPE datahub_rpc_duration_seconds histogram');
  expect(text).toContain(
    'datahub_rpc_duration_seconds_count{service="datahub.ml.v1.MlService",method="Predict",code="NOT_FOUND"} 1',
  );
  expect(text).toContain('\nprocess_resident_memory_bytes ');
  expect((await fetch(url)).status).toBe(404);
  await served.close();
});

it('says beside them whether the service takes calls', async () => {
  let missing: string[] = [];
  const served = await serveMetrics(() => '', {
    host: '127.0.0.1',
    port: await freePort(),
    missing: () => missing,
  });
  const ask = async () => {
    const answer = await fetch(`http://127.0.0.1:${served.port}/readyz`);
    return [answer.status, await answer.json()];
  };
  expect(await ask()).toEqual([200, { status: 'ready' }]);
  missing = ['store'];
  expect(await ask()).toEqual([503, { status: 'not ready', missing: ['store'] }]);
  await served.close();
});

it('ends although a client has sent half of a request', async () => {
  const served = await serveMetrics(() => '', { host: '127.0.0.1', port: await freePort() });
  const client = connect(served.port, '127.0.0.1');
  await once(client, 'connect');
  client.write('GET /met');
  const ended = once(client, 'close');
  client.on('error', () => {});
  await served.close();
  await ended;
}, 10_000);

it('answers one request of a client that sends many without waiting, and renders once for all that ask', async () => {
  let rendered = 0;
  const read = async () => {
    rendered++;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return 'a 1\n';
  };
  const served = await serveMetrics(read, { host: '127.0.0.1', port: await freePort(), ofProcess: false });
  const answers = Array.from({ length: 5 }, async () => {
    const client = connect(served.port, '127.0.0.1').setEncoding('utf8');
    client.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(200));
    let text = '';
    client.on('data', (more) => {
      text += more;
    });
    await new Promise((resolve) => client.on('close', resolve).on('error', () => {}));
    return text.split('HTTP/1.1').length - 1;
  });
  for (const count of await Promise.all(answers)) expect(count).toBeLessThanOrEqual(1);
  const url = `http://127.0.0.1:${served.port}/metrics`;
  const texts = await Promise.all([1, 2, 3].map(async () => (await fetch(url)).text()));
  expect(texts).toEqual(['a 1\n', 'a 1\n', 'a 1\n']);
  expect(rendered).toBeLessThanOrEqual(3);
  await served.close();
});

it('parses little more of what a client sends without waiting', async () => {
  let parsed = 0;
  const count = () => parsed++;
  subscribe('http.server.request.start', count);
  const served = await serveMetrics(() => '', { host: '127.0.0.1', port: await freePort() });
  const client = connect(served.port, '127.0.0.1').on('error', () => {});
  client.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1_500));
  await new Promise((resolve) => client.on('close', resolve));
  unsubscribe('http.server.request.start', count);
  expect(parsed).toBeGreaterThan(0);
  expect(parsed).toBeLessThan(150);
  await served.close();
});
