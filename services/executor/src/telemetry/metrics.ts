/** Counters of the executor, cheap enough for every execution, as text for Prometheus when asked. */

import { DurationHistogram, type DurationSeries } from '@datahub/service-kit/telemetry/duration-histogram';
import type { PoolStats } from '../pool/pool-types.ts';

export interface ExecutorMetrics {
  executed(engine: string, code: string, durationMs: number): void;
  answered(rows: number, bytes: number): void;
  connected(engine: string, code: string): void;
  render(pools: PoolStats & { pools: number }): string;
}

export function createMetrics(): ExecutorMetrics {
  const durations = new DurationHistogram({
    name: 'datahub_execution_duration_seconds',
    help: 'Executions by engine and outcome.',
  });
  /** Engines and codes are few, so the number of series is bounded. */
  const executions = new Map<string, Map<string, DurationSeries>>();
  const connects = new Map<string, number>();
  const totals = { rows: 0, bytes: 0 };

  const seriesOf = (engine: string, code: string): DurationSeries => {
    const codes = executions.get(engine) ?? new Map<string, DurationSeries>();
    executions.set(engine, codes);
    let series = codes.get(code);
    if (series === undefined) {
      series = durations.series({ engine, code });
      codes.set(code, series);
    }
    return series;
  };

  return {
    executed: (engine, code, durationMs) => seriesOf(engine, code).observe(durationMs),
    answered: (rows, bytes) => {
      totals.rows += rows;
      totals.bytes += bytes;
    },
    connected: (engine, code) => {
      const labels = `engine="${engine}",code="${code}"`;
      connects.set(labels, (connects.get(labels) ?? 0) + 1);
    },
    render: (pools) =>
      durations.text() +
      [
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
