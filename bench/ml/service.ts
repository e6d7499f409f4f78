/**
 * Measures the classifier over REST through a running hub: accuracy and calibration after one pass, the time of a train
 * call (durable when it is answered) and of a prediction, and the restart of the hub. Draws the learning curves as
 * docs/images/learning-curves.svg if all data sets were measured.
 * `npm run bench -- ml/service`, or `node bench/ml/service.ts [set …]`
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openHub } from '../../services/hub/src/compose.ts';
import { createApi } from '../../tests/support/api.ts';
import { quantile } from '../support/table.ts';
import { baselines, type Example, listSets, load, score } from './data.ts';
import { type Curve, drawCurves } from './learning-curves.ts';

const picture = fileURLToPath(new URL('../../docs/images/learning-curves.svg', import.meta.url));
const settings = {
  PORT: '0',
  DATAHUB_METRICS_PORT: '0',
  DATAHUB_API_KEY: `bench-key-${randomBytes(16).toString('hex')}`,
  DATAHUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'datahub-bench-')),
  DATAHUB_LOG_LEVEL: 'fatal',
};
const batchSize = 100;
const callsTimed = 200;
const shares = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

let hub = await openHub(settings);
const apiOf = () => createApi({ url: `http://127.0.0.1:${hub.port}`, key: settings.DATAHUB_API_KEY });
let api = apiOf();

async function predict(id: string, tests: Example[]): Promise<{ accuracy: number; ece: number }> {
  const results: { isCorrect: boolean; confidence: number }[] = [];
  for (let at = 0; at < tests.length; at += batchSize) {
    const part = tests.slice(at, at + batchSize);
    const { predictions } = await api.ok(
      api.post(`/v1/classifiers/${id}/predict`, { contexts: part.map(({ text }) => text) }),
    );
    for (const [i, { label, confidence }] of predictions.entries()) {
      results.push({ isCorrect: label === part[i]?.label, confidence });
    }
  }
  return score(results);
}

async function timed(calls: number, call: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < calls; i++) {
    const startedAt = performance.now();
    await call(i);
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function measure(name: string): Promise<Curve> {
  const [examples, tests] = [load(`${name}.train`), load(`${name}.test`)];
  const { id } = await api.ok(api.post('/v1/classifiers', { name }));
  const train = `/v1/classifiers/${id}/train`;
  const points: Curve['points'] = [];
  let at = 0;
  for (const share of shares) {
    const until = Math.round(share * examples.length);
    // The last examples are sent one by one, as in production.
    const batched = share === 1 ? Math.max(at, until - callsTimed) : until;
    for (; at < batched; at += batchSize) {
      const part = examples.slice(at, Math.min(at + batchSize, batched));
      await api.ok(api.post(train, { examples: part.map(({ label, text }) => ({ label, context: text })) }));
      process.stderr.write(`\r${name} ${Math.min(at + batchSize, batched)} of ${examples.length}   `);
    }
    at = batched;
    if (share < 1) points.push({ examples: until, ...(await predict(id, tests)) });
  }
  const trainMs = await timed(examples.length - at, (i) => {
    const { label, text } = examples[at + i] as Example;
    return api.ok(api.post(train, { label, context: text }));
  });
  const last = await predict(id, tests);
  points.push({ examples: examples.length, ...last });
  const ask = (i: number) =>
    api.ok(api.post(`/v1/classifiers/${id}/predict`, { context: tests[i % tests.length]?.text }));
  const predictMs = await timed(callsTimed, ask);
  await hub.close();
  const closedAt = performance.now();
  hub = await openHub(settings);
  api = apiOf();
  await ask(0);
  const restartMs = performance.now() - closedAt;
  const batch = baselines[name]?.batch ?? Number.NaN;
  const cell = (value: number, digits = 1) => value.toFixed(digits).padStart(8);
  process.stderr.write('\r');
  process.stdout.write(
    `${name.padEnd(16)}${cell(last.accuracy)}${cell(batch)}${cell(last.accuracy - batch)}${cell(last.ece)}` +
      `${cell(quantile(trainMs, 0.5), 2)}${cell(quantile(trainMs, 0.99), 2)}${cell(quantile(predictMs, 0.5), 2)}${cell(restartMs, 0)}\n`,
  );
  return { name, batch, points };
}

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const names = listSets(wanted);
if (names.length === 0) {
  process.stdout.write('ml/service: skipped, because the data sets are missing (../shared/data/ml).\n');
} else {
  process.stdout.write(
    `${'set'.padEnd(16)}     acc   batch    diff     ece  train50 train99  pred50 restart   (ms, over REST)\n`,
  );
  const curves: Curve[] = [];
  for (const name of names) curves.push(await measure(name));
  if (wanted.length === 0) {
    mkdirSync(join(picture, '..'), { recursive: true });
    writeFileSync(picture, drawCurves(curves));
  }
}
await hub.close();
rmSync(settings.DATAHUB_DATA_DIR, { recursive: true });
