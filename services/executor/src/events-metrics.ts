/** Counters of the executor, cheap enough for every execution, as text for Prometheus when asked. */

import type { PoolStats } from './pool-settings.ts';

const bucketsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

interface Series {
  labels: string;
  count: number;
  sumMs: number;
  /** One more than there are bounds: the last counts what is above all. */
  buckets: Uint32Array;
}

export interface ExecutorMetrics {
  executed(engine: string, code: string, durationMs: number): void;
  answered(rows: number, bytes: number): void;
  connected(engine: string, code: string): void;
  render(pools: PoolStats & { pools: number }): string;
}

export function createMetrics(): ExecutorMetrics {
  /** Engines and codes are few, so the number of series is bounded. */
  const executions = new Map<string, Map<string, Series>>();
  const connects = new Map<string, number>();
  const totals = { rows: 0, bytes: 0 };

  const seriesOf = (engine: string, code: string): Series => {
    const codes = executions.get(engine) ?? new Map<string, Series>();
    executions.set(engine, codes);
    let series = codes.get(code);
    if (series === undefined) {
      const labels = `engine="${engine}",code="${code}"`;
      series = { labels, count: 0, sumMs: 0, buckets: new Uint32Array(bucketsMs.length + 1) };
      codes.set(code, series);
    }
    return series;
  };

  return {
    executed: (engine, code, durationMs) => {
      const series = seriesOf(engine, code);
      series.count++;
      series.sumMs += durationMs;
      let bucket = 0;
      while (bucket < bucketsMs.length && durationMs > (bucketsMs[bucket] as number)) bucket++;
      series.buckets[bucket] = (series.buckets[bucket] as number) + 1;
    },
    answered: (rows, bytes) => {
      totals.rows += rows;
      totals.bytes += bytes;
    },
    connected: (engine, code) => {
      const labels = `engine="${engine}",code="${code}"`;
      connects.set(labels, (connects.get(labels) ?? 0) + 1);
    },
    render: (pools) =>
      [
        ...renderHistogram([...executions.values()].flatMap((codes) => [...codes.values()])),
        ...renderFamily('datahub_source_connects_total', 'counter', [...connects]),
        ...renderFamily('datahub_answer_rows_total', 'counter', [['', totals.rows]]),
        ...renderFamily('datahub_answer_bytes_total', 'counter', [['', totals.bytes]]),
        ...renderFamily('datahub_pools', 'gauge', [['', pools.pools]]),
        ...renderFamily('datahub_pool_waiting', 'gauge', [['', pools.waiting]]),
        ...renderFamily(
          'datahub_pool_connections',
          'gauge',
          (['busy', 'idle', 'connecting'] as const).map((state) => [`state="${state}"`, pools[state]]),
        ),
        '',
      ].join('\n'),
  };
}

function renderFamily(name: string, type: string, samples: [labels: string, value: number][]): string[] {
  return [
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
  ];
}

function renderHistogram(series: Series[]): string[] {
  const name = 'datahub_execution_duration_seconds';
  const lines = [`# HELP ${name} Executions by engine and outcome.`, `# TYPE ${name} histogram`];
  for (const { labels, count, sumMs, buckets } of series) {
    let below = 0;
    for (const [i, bound] of bucketsMs.entries()) {
      below += buckets[i] as number;
      lines.push(`${name}_bucket{${labels},le="${bound / 1_000}"} ${below}`);
    }
    lines.push(`${name}_bucket{${labels},le="+Inf"} ${count}`);
    lines.push(`${name}_sum{${labels}} ${sumMs / 1_000}`, `${name}_count{${labels}} ${count}`);
  }
  return lines;
}
