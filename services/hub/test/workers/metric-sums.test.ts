import { expect, it } from 'vitest';
import { createMetricSums } from '../../src/workers/metric-sums.ts';

const text = (calls: number, busy: number) => `# HELP datahub_calls_total Calls.
# TYPE datahub_calls_total counter
datahub_calls_total{code="OK"} ${calls}
# TYPE datahub_seconds histogram
datahub_seconds_bucket{le="1"} ${calls}
datahub_seconds_bucket{le="+Inf"} ${calls}
datahub_seconds_sum 0.5
datahub_seconds_count ${calls}
# TYPE datahub_busy gauge
datahub_busy ${busy}
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1700000000
`;

const sampleIn = (rendered: string, sample: string) =>
  rendered
    .split('\n')
    .find((line) => line.startsWith(`${sample} `))
    ?.slice(sample.length + 1);

it('sums metrics of the hub, and labels those of Node with the process', () => {
  const sums = createMetricSums();
  sums.read('worker-1', text(3, 1));
  sums.read('worker-2', text(4, 2));
  expect(sums.render()).toBe(`# HELP datahub_calls_total Calls.
# TYPE datahub_calls_total counter
datahub_calls_total{code="OK"} 7
# TYPE datahub_seconds histogram
datahub_seconds_bucket{le="1"} 7
datahub_seconds_bucket{le="+Inf"} 7
datahub_seconds_sum 1
datahub_seconds_count 7
# TYPE datahub_busy gauge
datahub_busy 3
# TYPE process_start_time_seconds gauge
process_start_time_seconds{process="worker-1"} 1700000000
process_start_time_seconds{process="worker-2"} 1700000000
`);
});

it('tells how late the oldest tick is once, whatever the number of workers', () => {
  const sums = createMetricSums();
  for (const [i, lag] of [12, 10, 11].entries())
    sums.read(`worker-${i}`, `# TYPE datahub_watch_lag_seconds gauge\ndatahub_watch_lag_seconds ${lag}\n`);
  expect(sampleIn(sums.render(), 'datahub_watch_lag_seconds')).toBe('10');
});

it('keeps counters of ended processes, and drops their gauges', () => {
  const sums = createMetricSums();
  sums.read('worker-1', text(3, 1));
  sums.ended('worker-1');
  expect(sampleIn(sums.render(), 'datahub_calls_total{code="OK"}')).toBe('3');
  expect(sampleIn(sums.render(), 'datahub_busy')).toBeUndefined();
  sums.read('worker-1', text(2, 1));
  const rendered = sums.render();
  expect(sampleIn(rendered, 'datahub_calls_total{code="OK"}')).toBe('5');
  expect(sampleIn(rendered, 'datahub_seconds_count')).toBe('5');
  expect(sampleIn(rendered, 'datahub_busy')).toBe('1');
});

it('sums a family that two services of one process have', () => {
  const sums = createMetricSums();
  const store = (service: string) =>
    `# TYPE datahub_store_up gauge\ndatahub_store_up{service="${service}"} 1\n`;
  sums.read('owner', store('catalog') + store('ml'));
  expect(sums.render().match(/_up\{/g)).toHaveLength(2);
});
