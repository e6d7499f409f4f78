/** Uses a page by its keyboard alone. */

import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Runs in the page: how a screen reader names what has the focus. */
const focusedName = `(() => {
  const one = document.activeElement.shadowRoot?.activeElement ?? document.activeElement;
  const label = one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent;
  return label.replace(/\\s+/g, ' ').trim();
})()`;

/** As long as the other waits for a page. */
const waitMs = 60_000;

function focusOf(page: Page) {
  const focused = async () => String(await page.evaluate(focusedName));
  /** Moves the focus with a key until the wanted item has it. Rendering can be later than the key, or lose it. */
  const moveTo = async (wanted: string, key: string) => {
    const endsAt = performance.now() + waitMs;
    while ((await focused()) !== wanted && performance.now() < endsAt) {
      const before = await focused();
      await page.keyboard.press(key);
      for (let i = 0; i < 20 && (await focused()) === before; i++) await page.waitForTimeout(50);
    }
    expect(await focused()).toBe(wanted);
  };
  return { focused, moveTo };
}

/** Presses keys only, as a person without a pointer does. */
export function keyboardOf(page: Page) {
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const { focused, moveTo } = focusOf(page);
  const type = (text: string) => page.keyboard.type(text);
  const tabTo = async (wanted: RegExp | string) => {
    const fits = (name: string) => (typeof wanted === 'string' ? name === wanted : wanted.test(name));
    const endsAt = performance.now() + waitMs;
    // The wanted element may still be loading.
    while (performance.now() < endsAt) {
      if (fits(await focused())) return;
      await press('Tab');
    }
    throw new Error(`Tab does not lead to ${wanted}.`);
  };
  return {
    press,
    type,
    tabTo,
    /** Presses a button or follows a link. */
    use: async (name: RegExp | string) => {
      await tabTo(name);
      await press('Enter');
    },
    write: async (name: RegExp | string, text: string) => {
      await tabTo(name);
      await press('Control+a');
      await type(text);
    },
    /** Opens a page by Ctrl+K. */
    find: async (name: string) => {
      await press('Control+k');
      await type(name);
      await page.getByRole('option', { name }).first().waitFor();
      await press('Enter');
    },
    /** Chooses from a menu button by the arrow keys. */
    pick: async (menu: RegExp | string, item: string) => {
      await tabTo(menu);
      await press('Enter');
      await moveTo(item, 'ArrowDown');
      await press('Enter');
    },
    /** Publishes a draft. `agreeTo` is what the person must agree to. */
    publish: async (agreeTo?: RegExp | string) => {
      await press('Control+s');
      if (agreeTo !== undefined) {
        await tabTo(agreeTo);
        await press('Space');
        await tabTo('Publish');
      }
      // The button takes the focus once the draft is checked.
      await expect.poll(focused).toBe('Publish');
      await press('Enter');
      await page.getByText('not published').waitFor({ state: 'detached' });
    },
    /** Goes to a tab of the page. */
    show: async (from: string, to: string) => {
      await tabTo(from);
      await moveTo(to, 'ArrowRight');
    },
  };
}
