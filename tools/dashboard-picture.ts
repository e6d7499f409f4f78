/**
 * `node tools/dashboard-picture.ts`: runs a hub of four processes under ordinary load with one source that goes down, and
 * draws docs/images/dashboard.png. It draws the panels of deploy/observability/dashboard.json itself, with the answers of a
 * real Prometheus, so that it needs no Grafana. `--load-s 90` is how long the load lasts.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '@datahub/service-kit/process/free-port';
import { chromium } from 'playwright-core';
import { startObservedHub } from '../tests/support/observed-hub.ts';
import {
  dashboard,
  exprOf,
  type Panel,
  type Prometheus,
  type Series,
  startPrometheus,
} from '../tests/support/prometheus.ts';
import { findChromium } from './databases/chromium.ts';
import { findPrometheus } from './databases/prometheus.ts';
import { startDatabases } from './databases.ts';

interface Drawn extends Panel {
  series: { name: string; values: [number, number][] }[];
}

const path = fileURLToPath(new URL('../docs/images/dashboard.png', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);
const { values: flags } = parseArgs({ options: { 'load-s': { type: 'string', default: '90' } } });
const loadMs = Number(flags['load-s']) * 1_000;
const [stepS, width, unitHeight, unitWidth] = [1, 1_440, 34, 60];
const colours = ['#3274d9', '#56a64b', '#e0752d', '#b877d9', '#e02f44', '#f2cc0c', '#37a2a0', '#8f3bb8'];

async function measure(databaseUrl: string, program: string): Promise<Drawn[]> {
  const observed = await startObservedHub(databaseUrl);
  const prometheus = await startPrometheus({ program, jobs: observed.jobs, shortened: 60, scrapeMs: 1_000 });
  const callers = Array.from({ length: 4 }, () => observed.startTraffic(15));
  try {
    const start = Date.now() / 1_000 + 5;
    await sleep(loadMs / 2);
    const downId = await observed.store(await observed.addSource(await freePort()), 'SELECT 1');
    for (const end = Date.now() + loadMs / 2; Date.now() < end; await sleep(100))
      await observed.api.post('/v1/queries/execute', { queryId: downId });
    const range = { start, end: Date.now() / 1_000, step: stepS };
    const drawn: Drawn[] = [];
    for (const panel of dashboard.panels)
      drawn.push({ ...panel, series: await read(prometheus, panel, range) });
    return drawn;
  } finally {
    await Promise.all(callers.map((caller) => caller.stop()));
    await prometheus.close();
    await observed.close();
  }
}

async function read(
  prometheus: Prometheus,
  { targets = [] }: Panel,
  range: { start: number; end: number; step: number },
): Promise<Drawn['series']> {
  const found = targets.map(async ({ expr, legendFormat }) => {
    const all = await prometheus.queryRange(exprOf(expr, '5s'), range);
    return all.map((series) => ({ name: nameOf(legendFormat, series), values: numbersOf(series) }));
  });
  return (await Promise.all(found)).flat().filter(({ values }) => values.length > 0);
}

const nameOf = (format: string, { metric }: Series) =>
  format.replace(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '');
const numbersOf = ({ values }: Series) => values.filter(([, value]) => Number.isFinite(value));

/** The value with the unit that Grafana shows for it. */
function format(value: number, unit: string): string {
  if (unit === 'percentunit') return `${(value * 100).toFixed(value > 0.99 && value < 1 ? 2 : 0)} %`;
  if (unit === 's')
    return value < 1 ? `${Number((value * 1_000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
  if (unit === 'bool_yes_no') return value === 0 ? 'No' : 'Yes';
  const [divisor, prefix] = value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, ''];
  const suffix: Record<string, string> = { reqps: ' req/s', ops: '/s', Bps: 'B/s', bytes: 'B' };
  return `${Number((value / divisor).toPrecision(3))} ${prefix}${suffix[unit] ?? ''}`.trim();
}

const escapeHtml = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** The colour of the highest threshold that the value reaches. */
function colourOf({ fieldConfig }: Panel, value: number): string {
  const steps = fieldConfig?.defaults.thresholds?.steps ?? [];
  const reached = steps.findLast((step) => step.value === null || value >= step.value)?.color ?? 'green';
  return { green: '#2a7d2e', red: '#c4162a', orange: '#c25b00', yellow: '#b38600' }[reached] ?? '#24292e';
}

function draw(panel: Drawn, range: [number, number]): string {
  const { x, y, w, h } = panel.gridPos;
  const box = `left:${x * unitWidth}px;top:${y * unitHeight}px;width:${w * unitWidth - 8}px;height:${h * unitHeight - 8}px`;
  if (panel.type === 'row') return `<h2 style="${box}">${escapeHtml(panel.title)}</h2>`;
  const unit = panel.fieldConfig?.defaults.unit ?? 'short';
  const last = panel.series[0]?.values.at(-1)?.[1];
  const body =
    panel.series.length === 0
      ? '<p class="none">No data</p>'
      : panel.type === 'stat'
        ? `<p class="stat" style="color:${colourOf(panel, last ?? 0)}">${format(last ?? 0, unit)}</p>`
        : chart(panel, range, unit);
  return `<section style="${box}"><h3>${escapeHtml(panel.title)}</h3>${body}</section>`;
}

/** The top of an axis: the next round number, so that its half is a short number, too. */
function ceilingOf(max: number, unit: string): number {
  if (unit === 'percentunit' && max > 0.5 && max <= 1) return 1;
  if (max < 1e-6) return 1;
  // Durations are written in milliseconds, and percentages in hundredths.
  const step = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 4, 5, 6, 8, 10].map((factor) => factor * step).find((top) => top >= max) as number;
}

function chart({ series, gridPos }: Drawn, [from, to]: [number, number], unit: string): string {
  const [left, right, bottom] = [64, gridPos.w * unitWidth - 24, gridPos.h * unitHeight - 76];
  const max = ceilingOf(
    Math.max(0, ...series.flatMap(({ values }) => values.map(([, value]) => value))),
    unit,
  );
  const atX = (at: number) => left + ((at - from) / (to - from)) * (right - left);
  const atY = (value: number) => bottom - (value / max) * (bottom - 6);
  const grid = (unit === 'bool_yes_no' ? [0, 1] : [0, 0.5, 1]).map((share) => {
    const line = atY(max * share);
    return `<line x1="${left}" x2="${right}" y1="${line}" y2="${line}"/><text x="${left - 6}" y="${line + 4}" text-anchor="end">${format(max * share, unit)}</text>`;
  });
  const lines = series.map(({ values }, i) => {
    const points = values.map(([at, value]) => `${atX(at).toFixed(1)},${atY(value).toFixed(1)}`).join(' ');
    return `<polyline points="${points}" stroke="${colours[i % colours.length]}"/>`;
  });
  const legend = series
    .slice(0, 6)
    .map(({ name }, i) => `<span style="color:${colours[i]}">■</span> ${escapeHtml(name)}`)
    .join('  ');
  return `<svg width="${right}" height="${bottom + 8}">${grid.join('')}${lines.join('')}</svg><footer>${legend}</footer>`;
}

function page(panels: Drawn[]): string {
  const times = panels.flatMap(({ series }) => series.flatMap(({ values }) => values.map(([at]) => at)));
  const range: [number, number] = [
    times.reduce((a, b) => Math.min(a, b)),
    times.reduce((a, b) => Math.max(a, b)),
  ];
  const height = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h)) * unitHeight;
  return `<style>
body{margin:0;background:#f4f5f5;font:12px system-ui,sans-serif;color:#24292e;position:relative;width:${width}px;height:${height}px}
section,h2{position:absolute;box-sizing:border-box;margin:4px}
section{background:#fff;border:1px solid #e0e1e4;border-radius:3px;overflow:hidden}
h2{font-size:15px;padding:5px 2px}h3{font-size:12.5px;margin:7px 10px 4px;font-weight:600}
.stat{font-size:34px;text-align:center;margin:16px 0}.none{text-align:center;color:#888;margin-top:60px}
line{stroke:#e6e7ea}polyline{fill:none;stroke-width:1.6}text{font-size:11px;fill:#666}
footer{margin:0 10px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;font-size:11px}
</style>${panels.map((panel) => draw(panel, range)).join('')}`;
}

const databases = process.env.POSTGRES_URL ? undefined : await startDatabases({ say });
const url = process.env.POSTGRES_URL ?? databases?.env.POSTGRES_URL;
const programs = await findPrometheus({ say });
const executablePath = await findChromium({ say });
if (url === undefined || programs === undefined || executablePath === undefined) {
  say('The picture needs PostgreSQL (POSTGRES_URL), Prometheus and Chromium (CHROMIUM_PATH).');
  process.exitCode = 1;
} else {
  const panels = await measure(url, programs.prometheus);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const tab = await browser.newPage({ viewport: { width: width + 8, height: 900 } });
  await tab.setContent(page(panels));
  await tab.screenshot({ path, fullPage: true });
  await browser.close();
  const empty = panels.filter(({ type, series }) => type !== 'row' && series.length === 0);
  say(
    `${path}: ${panels.length} panels and rows; without data: ${empty.map(({ title }) => title).join(', ') || 'none'}`,
  );
}
await databases?.close();
