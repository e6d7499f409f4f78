/**
 * What a person feels of the console: the bytes and the time until the first paint, the CPU time of the longest task while
 * 100,000 rows of 20 columns are scrolled, sorted and filtered, and the memory of the page with these rows.
 */

import { readFile } from 'node:fs/promises';
import type { CDPSession, Page } from 'playwright-core';
import { executablePath, openBrowser } from '../tests/support/browser/chromium.ts';
import { accessOf } from '../tests/support/databases.ts';
import { spawnHub } from '../tests/support/spawned.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const rowCount = 100_000;
const columns = Array.from({ length: 20 }, (_, i) =>
  i % 2 === 0 ? `n * ${i + 1} AS number_${i}` : `'row ' || n || ' of ${i}' AS text_${i}`,
);
const statement = `SELECT ${columns.join(', ')} FROM generate_series(1, ${rowCount}) AS n`;
const goals = { bytes: 60_000, paintMs: 1_000, taskMs: 50, memory: 300_000_000 };

const say = (name: string, value: string, goal: string) =>
  process.stdout.write(`${name.padEnd(56)}${value.padEnd(34)}goal: ${goal}\n`);
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Opens the page with an empty cache, and answers when it had painted, and the bytes that it had received by then. */
async function firstPaint(page: Page, url: string): Promise<{ ms: number; bytes: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  await page.goto(url);
  await page.locator('.frame').waitFor();
  const seen = (await page.evaluate(`(async () => {
    const paint = await new Promise((resolve) => {
      const find = (list) => {
        const found = list.getEntriesByName('first-contentful-paint')[0];
        if (found !== undefined) resolve(found.startTime);
      };
      new PerformanceObserver(find).observe({ type: 'paint', buffered: true });
    });
    const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    const before = loaded.filter(({ name, responseEnd }) => responseEnd <= paint && !name.includes('/v1/'));
    return { ms: paint, bytes: before.reduce((sum, { transferSize }) => sum + transferSize, 0) };
  })()`)) as { ms: number; bytes: number };
  await session.detach();
  return seen;
}

interface TraceEvent {
  name: string;
  tid: number;
  pid: number;
  /** CPU time in microseconds. */
  tdur?: number;
  args: { name?: string };
}

/** The CPU times of the tasks of the page's main thread while `act` runs, in ms, the longest first. */
async function tasksOf(session: CDPSession, act: () => Promise<unknown>): Promise<number[]> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }) => events.push(...(value as TraceEvent[]));
  session.on('Tracing.dataCollected', collect);
  const included = ['toplevel', 'disabled-by-default-devtools.timeline', '__metadata'];
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: included },
  });
  await act();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  session.off('Tracing.dataCollected', collect);
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events
    .filter(({ name, pid, tid }) => /RunTask$/.test(name) && main.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1_000)
    .sort((a, b) => b - a);
}

/** The memory of the process of the page that no other process shares. */
async function memoryOf(session: CDPSession, page: Page): Promise<{ heap: number; own: number }> {
  await session.send('HeapProfiler.collectGarbage');
  const heap = (await page.evaluate('performance.memory.usedJSHeapSize')) as number;
  const browser = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo = [] } = (await browser?.send('SystemInfo.getProcessInfo')) ?? {};
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(async ({ id }) => {
      const text = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
      const kilobytes = [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].map(([, kB]) => Number(kB));
      return 1_024 * kilobytes.reduce((sum, kB) => sum + kB, 0);
    });
  return { heap, own: Math.max(...(await Promise.all(sizes))) };
}

async function measure(databaseUrl: string): Promise<void> {
  const hub = await spawnHub({});
  const browser = await openBrowser();
  try {
    const { api, url, key } = hub;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'bench' }));
    const connectionSettings = { ...accessOf(databaseUrl), tls: { mode: 'disable' } };
    const source = { hubId, label: 'bench', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = { hubId, sourceId, label: 'wide', query: statement };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
    await context.addInitScript((value) => sessionStorage.setItem('datahub.key', value), key);
    const page = await context.newPage();
    const paints = [];
    for (let round = 0; round < rounds; round++) paints.push(await firstPaint(page, url));
    const bytes = Math.max(...paints.map((paint) => paint.bytes));
    say('bytes before the first paint', `${(bytes / 1_000).toFixed(1)} kB`, `${goals.bytes / 1_000} kB`);
    const paintMs = median(paints.map(({ ms }) => ms));
    say('first paint, empty cache (median)', `${paintMs.toFixed()} ms`, `${goals.paintMs} ms`);

    await page.goto(`${url}/#/hub/${hubId}/query/${queryId}`);
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('.figures[data-status=done]').waitFor();
    const session = await context.newCDPSession(page);
    const steps: [string, () => Promise<unknown>][] = [
      ['scrolled with the wheel', () => scroll(page)],
      ['scrolled from end to end', () => jump(page)],
      ['sorted', () => sort(page)],
      ['filtered', () => filter(page)],
    ];
    for (const [name, act] of steps) {
      const [longest = 0, second = 0] = await tasksOf(session, act);
      const value = `${longest.toFixed(1)} ms of CPU, then ${second.toFixed(1)} ms`;
      say(`longest task while rows are ${name}`, value, `${goals.taskMs} ms`);
    }
    const { heap, own } = await memoryOf(session, page);
    const megabytes = (size: number) => `${(size / 1e6).toFixed()} MB`;
    say('memory', `heap ${megabytes(heap)}, process ${megabytes(own)}`, megabytes(goals.memory));
  } finally {
    await browser.close();
    await hub.close();
  }
}

const twoFrames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

async function scroll(page: Page): Promise<void> {
  await page.locator('.grid').hover();
  for (let i = 0; i < 100; i++) {
    await page.mouse.wheel(0, 600);
    await page.evaluate(twoFrames);
  }
  const first = await page.locator('.grid-row:not([hidden])').first().getAttribute('aria-rowindex');
  // 60,000 px are about 2,000 rows.
  if (Number(first) < 1_000) throw new Error(`The rows were not scrolled: row ${first} is in sight.`);
}

async function jump(page: Page): Promise<void> {
  await page.locator('.grid').focus();
  for (let i = 0; i < 10; i++) {
    await page.keyboard.press(i % 2 === 0 ? 'Control+End' : 'Control+Home');
    // The head of the columns is the first row.
    await page
      .locator(`.grid [aria-rowindex="${i % 2 === 0 ? rowCount + 1 : 2}"]`)
      .waitFor({ state: 'attached' });
  }
}

async function sort(page: Page): Promise<void> {
  await page.getByTitle('Sort by text_1', { exact: true }).click();
  await page.locator('.grid [aria-sort=ascending]').waitFor();
}

async function filter(page: Page): Promise<void> {
  await page.getByLabel('Filter rows').fill('row 77777 of');
  await page.locator('.figures', { hasText: '1 match' }).waitFor();
}

if (executablePath === null || executablePath === undefined)
  process.stdout.write('console-page: skipped, because there is no Chromium.\n');
else if (process.env.POSTGRES_URL === undefined)
  process.stdout.write('console-page: skipped, because there is no POSTGRES_URL.\n');
else await measure(process.env.POSTGRES_URL);
