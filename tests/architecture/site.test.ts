import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import MiniSearch from 'minisearch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSite, searchFields } from '../../tools/site/build.ts';

let dir: string;
const pages = new Map<string, string>();
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'site-'));
  await buildSite(dir);
  for (const name of await readdir(dir))
    if (name.endsWith('.html')) pages.set(name, await readFile(join(dir, name), 'utf8'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe('the site of the documentation', () => {
  it('has a page for each page of docs, and each link leads to a place that exists', async () => {
    const docs = (await readdir('docs')).filter((name) => name.endsWith('.md'));
    for (const name of docs) expect(pages.has(name.replace('.md', '.html'))).toBe(true);
    const files = new Set(await readdir(dir));
    const broken = [...pages].flatMap(([page, html]) =>
      [...html.matchAll(/<a href="([^"]*)"/g)].flatMap(([, href = '']) => {
        if (/^(?:[a-z]+:|\/)/.test(href)) return [];
        const [file = '', place] = href.split('#');
        const target = pages.get(file === '' ? page : file);
        const isThere =
          target === undefined ? files.has(file) : place === undefined || target.includes(`id="${place}"`);
        return isThere ? [] : [`${page}: ${href}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  it('needs nothing from elsewhere, and its search finds sections and routes', async () => {
    for (const html of pages.values())
      expect(html).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="https?:/);
    const search = MiniSearch.loadJSON(await readFile(join(dir, 'search-index.json'), 'utf8'), searchFields);
    const find = (words: string) =>
      search.search(words, { prefix: true, combineWith: 'AND', boost: { title: 4 } })[0]?.id;
    expect(find('redash')).toBe('coming-from.html#redash');
    expect(find('rotate keyId')).toContain('reference.html#');
  });
});
