/**
 * 100,000 rows of 20 columns in the console: the time from the first byte of the response to the first drawn rows,
 * against a page that only draws the first rows of the same response as a table.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { executablePath, openBrowser } from '../tests/support/browser/chromium.ts';
import { accessOf } from '../tests/support/databases.ts';
import { spawnHub } from '../tests/support/spawned.ts';
import { type Pair, printHead, printRow } from './support/table.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const columns = (textOf: (i: number) => string) =>
  Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? `n * ${i + 1} AS number_${i}` : textOf(i))).join(', ');
const mysqlColumns = columns((i) => `CONCAT('row ', n, ' of ${i}') AS text_${i}`);
const statements: Record<string, string> = {
  postgres: `SELECT ${columns((i) => `'row ' || n || ' of ${i}' AS text_${i}`)} FROM generate_series(1, 100000) AS n`,
  mariadb: `SELECT ${mysqlColumns} FROM (SELECT seq AS n FROM seq_1_to_100000) AS many`,
  mysql: `WITH RECURSIVE many (n) AS (SELECT /*+ SET_VAR(cte_max_recursion_depth = 100000) */ 1 UNION ALL SELECT n + 1 FROM many WHERE n < 100000) SELECT ${mysqlColumns} FROM many`,
};

/** Resolves in the page when the first row of the grid is drawn. */
const firstRow = `new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if ((document.querySelector('.grid-cell')?.textContent ?? '') === '') return;
    observer.disconnect();
    // The grid draws in the callback of a frame, and this comes after the frame.
    setTimeout(() => resolve(performance.now()));
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
})`;
/** Resolves in the page when the browser has noted the times of the request, which is after its end. */
const firstByte = `(async () => {
  for (;;) {
    const noted = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/execute')).at(-1);
    if (noted !== undefined) return noted.responseStart;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
})()`;

/** Draws as many rows as the grid shows, as soon as they are there, and reads the rest. */
const byHand = (request: { key: string; queryId: string }) => `(async () => {
  const response = await fetch('/v1/queries/execute', {
    method: 'POST',
    headers: { 'x-service-api-key': '${request.key}', 'content-type': 'application/json', accept: 'application/x-ndjson' },
    body: JSON.stringify({ queryId: '${request.queryId}' }),
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.split('\\n').length < 32) text += (await reader.read()).value;
  const table = document.createElement('table');
  for (const line of text.split('\\n').slice(0, 30)) {
    const row = table.insertRow();
    for (const value of Object.values(JSON.parse(line))) row.insertCell().textContent = value;
  }
  document.body.append(table);
  const drawnAt = await new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))));
  while (!(await reader.read()).done);
  return drawnAt - (await ${firstByte});
})()`;

async function inConsole(page: Page, address: string): Promise<number> {
  await page.goto('about:blank');
  await page.goto(address);
  const run = page.getByRole('button', { name: /^Run/ });
  await run.waitFor();
  const drawn = page.evaluate(firstRow);
  await run.click();
  const drawnAt = (await drawn) as number;
  await page.locator('.figures[data-status=done]').waitFor();
  return drawnAt - ((await page.evaluate(firstByte)) as number);
}

async function measure(engine: string, databaseUrl: string): Promise<Pair[]> {
  const hub = await spawnHub({});
  const browser = await openBrowser();
  try {
    const { api, url, key } = hub;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'bench' }));
    const source = {
      hubId,
      label: 'bench',
      engine,
      connectionSettings: { ...accessOf(databaseUrl), tls: { mode: 'disable' } },
    };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const query = { hubId, sourceId, label: 'wide', query: statements[engine] };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addInitScript((value) => sessionStorage.setItem('datahub.key', value), key);
    const page = await context.newPage();
    const pairs: Pair[] = [];
    for (let round = 0; round <= rounds; round++) {
      const ours = await inConsole(page, `${url}/#/hub/${hubId}/query/${queryId}`);
      await page.goto(`${url}/healthz`);
      const baseline = (await page.evaluate(byHand({ key, queryId }))) as number;
      // The first round fills the caches.
      if (round > 0) pairs.push({ ours, baseline });
      await sleep(200);
    }
    return pairs;
  } finally {
    await browser.close();
    await hub.close();
  }
}

if (executablePath === null || executablePath === undefined)
  process.stdout.write('console: skipped, because there is no Chromium.\n');
else {
  printHead('100,000 rows of 20 columns in a browser, from the first byte to the first rows (goal: 100 ms)');
  for (const [engine, url] of [
    ['postgres', process.env.POSTGRES_URL],
    ['mariadb', process.env.MARIADB_URL],
    ['mysql', process.env.MYSQL_URL],
  ] as const) {
    if (url === undefined) continue;
    printRow({ name: engine, unit: 'ms', pairs: await measure(engine, url), better: 'lower', goal: 2 });
  }
}
