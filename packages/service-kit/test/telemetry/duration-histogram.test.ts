import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { DurationHistogram } from '../../src/telemetry/duration-histogram.ts';

it('tells what prom-client tells of the same durations', async () => {
  const registry = new Registry();
  const options = { name: 'some_seconds', help: 'Some.' };
  const theirs = new Histogram({
    ...options,
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.01, 0.5],
    registers: [registry],
  });
  const ours = new DurationHistogram({ ...options, bucketsMs: [1, 10, 500] });
  const seen = [
    [{ route: '/v1/hubs', status: '200' }, [0, 0.5, 1, 1.25, 10, 10.5, 500, 501, 60_000]],
    [{ route: 'a "quoted" \\ one\nand more', status: '500' }, [4]],
  ] as const;
  for (const [labels, durations] of seen) {
    const series = ours.series(labels);
    for (const ms of durations) {
      series.observe(ms);
      theirs.observe(labels, ms / 1_000);
    }
  }
  const sorted = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) =>
        line.replace(/\{(.*)\}/, (_all, labels: string) => `{${labels.split(/,(?=\w+=)/).sort()}}`),
      )
      .sort();
  expect(sorted(ours.text())).toEqual(sorted(await registry.metrics()));
});
