/** A Prometheus that scrapes hubs and evaluates deploy/observability/rules.yaml, with its clock shortened. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { stringify } from 'yaml';

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

export interface Series {
  metric: Record<string, string>;
  values: [seconds: number, value: number][];
}

export interface Prometheus {
  query(expr: string): Promise<Sample[]>;
  queryRange(expr: string, range: { start: number; end: number; step: number }): Promise<Series[]>;
  /** The names of the alerts that fire now, apart from the one that always does. */
  firing(): Promise<string[]>;
  /** The names of the alerts that have fired since the start. */
  fired(): Promise<string[]>;
  close(): Promise<void>;
}

export interface PrometheusOptions {
  program: string;
  /** The ports of `/metrics` by job. */
  jobs: Record<string, number[]>;
  /** How many times faster the rules' windows pass. */
  shortened: number;
  scrapeMs: number;
}

export interface Panel {
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig?: {
    defaults: { unit: string; thresholds?: { steps: { color: string; value: number | null }[] } };
  };
  targets?: { expr: string; legendFormat: string }[];
}

const folder = fileURLToPath(new URL('../../deploy/observability/', import.meta.url));
export const rulesFile = join(folder, 'rules.yaml');
export const dashboard = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')) as {
  panels: Panel[];
};

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };
const readyTimeoutMs = 20_000;

/** The rules with all windows, waits and intervals divided. */
export function shorten(rules: string, by: number): string {
  const divided = (text: string) => {
    const ms = Number.parseInt(text, 10) * (unitMs[text.at(-1) as string] ?? 0);
    return `${Math.round(ms / by)}ms`;
  };
  return rules.replace(/(?<=\[|\b(?:for|interval): )\d+[smh]\b/g, divided);
}

/** A panel's expression as Grafana sends it, for all jobs. */
export const exprOf = (expr: string, rateInterval: string): string =>
  expr
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$namespace', '.*')
    .replaceAll('$job', '.*data-?hub.*');

const namesOf = (samples: Sample[]) =>
  [...new Set(samples.map(({ metric }) => metric.alertname ?? ''))]
    .filter((name) => name !== 'DatahubWatchdog')
    .sort();

export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const dir = await mkdtemp(join(tmpdir(), 'datahub-prometheus-'));
  const interval = `${options.scrapeMs}ms`;
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: ['rules.yaml'],
    scrape_configs: Object.entries(options.jobs).map(([job_name, ports]) => ({
      job_name,
      static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
    })),
  };
  await writeFile(join(dir, 'prometheus.yaml'), stringify(config));
  await writeFile(join(dir, 'rules.yaml'), shorten(readFileSync(rulesFile, 'utf8'), options.shortened));
  const port = await freePort();
  const args = [
    `--config.file=${join(dir, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  const child = spawn(options.program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = once(child, 'close');
  const startedAt = Date.now();
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(dir, { recursive: true, force: true });
  };
  const ask = async (path: string, params: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(params)}`);
    const { status, data, error } = (await response.json()) as any;
    if (status !== 'success') throw new Error(error);
    return data;
  };
  while (!(await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || Date.now() - startedAt > readyTimeoutMs) {
      await close();
      throw new Error('Prometheus did not start.');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const query = async (expr: string): Promise<Sample[]> => {
    const { result } = await ask('query', { query: expr });
    return result.map(({ metric, value }: any) => ({ metric, value: Number(value[1]) }));
  };
  return {
    query,
    queryRange: async (expr, { start, end, step }) => {
      const { result } = await ask('query_range', {
        query: expr,
        start: String(start),
        end: String(end),
        step: String(step),
      });
      return result.map(({ metric, values }: any) => ({
        metric,
        values: values.map(([at, value]: [number, string]) => [at, Number(value)]),
      }));
    },
    firing: async () => namesOf(await query('ALERTS{alertstate="firing"}')),
    fired: async () => {
      const ms = Date.now() - startedAt;
      return namesOf(await query(`count_over_time(ALERTS{alertstate="firing"}[${ms}ms])`));
    },
    close,
  };
}
