import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { closeDialog, drawn, ended, makeKey, openTab, signIn } from '../support/browser/console.ts';
import { prepareViews, viewsOf } from '../support/browser/views.ts';
import { api } from '../support/hub.ts';

/** Runs in the page: the controls that are outside of the screen, and that no scrolling brings into it. */
const outOfReach = `(() => {
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  return [...document.querySelectorAll('button, a, input, select, textarea, summary')].flatMap((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    if (width === 0 || !one.checkVisibility({ visibilityProperty: true })) return [];
    if (left >= -1 && right <= document.documentElement.clientWidth + 1) return [];
    for (let above = one.parentElement; above !== null; above = above.parentElement)
      if (scrolls(above) && above.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return [];
    return [one.outerHTML.slice(0, 120)];
  });
})()`;

/** Runs in the page: what scrolls sideways, and a chosen tab that is not in sight. */
const cutOff = `(() => [
  ...[...document.querySelectorAll('.table-scroll, .main, .page, dialog')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
    .map((one) => one.getAttribute('aria-label') ?? one.className),
  ...[...document.querySelectorAll('[role=tab][aria-selected=true]')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0)
    .map((one) => 'the tab ' + one.textContent),
])()`;

describe.skipIf(executablePath === undefined)('the console on a phone (needs Chromium)', () => {
  let page: Page;
  let hubId = '';
  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'narrow' })));
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    ({ page } = await openTab(await sharedBrowser(), phone));
  });
  afterAll(() => page?.context().close());

  it('has every view in 390 px, and all controls in reach', async () => {
    const ids = await prepareViews(hubId);
    await signIn(page, await makeKey(['*'], {}));
    const found: Record<string, unknown> = {};
    const look = async (name: string) => {
      await drawn(page);
      // A page that is wider than the screen makes the window of a phone wider, too.
      const width = await page.evaluate('Math.max(innerWidth, document.documentElement.scrollWidth)');
      const missing = (await page.evaluate(outOfReach)) as string[];
      const cut = (await page.evaluate(cutOff)) as string[];
      // The page scrolls in its frame, and the window does not.
      const below = await page.evaluate('document.documentElement.scrollHeight - innerHeight');
      if (width !== 390 || below !== 0 || missing.length > 0 || cut.length > 0)
        found[name] = { width, below, missing, cut };
    };
    for (const [name, path] of Object.entries(viewsOf(ids))) {
      await page.evaluate(`location.hash = '#/hub/${[hubId, ...path].join('/')}'`);
      await look(name);
      await closeDialog(page);
    }
    await page.evaluate(`location.hash = '#/hub/${hubId}/query/${ids.queryId}'`);
    await page.getByLabel('region', { exact: true }).fill('south');
    await page.getByLabel('ids', { exact: true }).fill('1,2,3');
    await page.getByRole('button', { name: /^Run/ }).tap();
    await ended(page, 'done');
    await look('rows');
    await page.getByRole('button', { name: 'Explain', exact: true }).tap();
    await page.locator('.plan').waitFor();
    await look('explain');
    await page.getByRole('tab', { name: 'Use it' }).tap();
    await page.getByRole('button', { name: 'Try' }).tap();
    await page.locator('.answer-line').waitFor();
    await look('use');
    await page.getByRole('button', { name: 'Show the tree' }).tap();
    await page.getByRole('treeitem', { name: 'by region' }).first().waitFor();
    await look('tree');
    await page.keyboard.press('Escape');
    await page.locator('.frame[data-side=false]').waitFor();
    expect(await page.getByRole('link', { name: 'Data Hub', exact: true }).count()).toBe(1);
    expect(found).toEqual({});
  });
});
