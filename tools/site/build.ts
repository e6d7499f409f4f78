/**
 * `npm run site -- DIR REPOSITORY`: writes the documentation as a static site, by default into .cache/site: a page for each
 * page of docs, the API's reference from its OpenAPI document, and a search that needs no network. The same sources give
 * the same bytes. REPOSITORY is the address of the files that are no pages, such as https://git.example/hub/blob/main.
 */

import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import MiniSearch from 'minisearch';
import { buildOpenApi } from '../../services/gateway/src/resources/openapi.ts';
import { describeRoutes } from '../../services/gateway/src/routes.ts';
import { referenceOf } from './reference.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The order of the menu. Other pages come behind these. */
const order = [
  ...[
    'README.md',
    'docs/coming-from.md',
    'docs/definitions.md',
    'docs/executing.md',
    'docs/recipes.md',
    'docs/api.md',
  ],
  ...[
    'docs/reference.md',
    'docs/client.md',
    'docs/browser.md',
    'docs/python.md',
    'docs/mcp.md',
    'docs/cli.md',
    'docs/ci.md',
  ],
];

interface Page {
  /** The file in the repository. */
  file: string;
  /** The address in the site. */
  address: string;
  title: string;
  text: string;
}

export interface Section {
  id: string;
  page: string;
  title: string;
  text: string;
}

export const searchFields = { fields: ['page', 'title', 'text'], storeFields: ['page', 'title'] };

async function readPages(): Promise<Page[]> {
  const names = (await readdir(join(root, 'docs')))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const read = async (file: string) => toPage(file, await readFile(join(root, file), 'utf8'));
  const pages = await Promise.all(['README.md', ...names.sort()].map(read));
  pages.push(toPage('docs/reference.md', referenceOf(buildOpenApi(describeRoutes()))));
  const placeOf = ({ file }: Page) => (order.includes(file) ? order.indexOf(file) : order.length);
  return pages.toSorted((one, other) => placeOf(one) - placeOf(other));
}

function toPage(file: string, text: string): Page {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? file;
  const address = file === 'README.md' ? 'index.html' : file.replace(/^docs\//, '').replace(/\.md$/, '.html');
  return { file, address, title: file === 'README.md' ? 'Data Hub' : title, text };
}

const toHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** As GitHub names the places of headings. */
function createSlugs(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const plain = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const count = seen.get(plain) ?? 0;
    seen.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  };
}

const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The HTML of a page, and its sections for the search. */
function render(page: Page, site: Site): { html: string; sections: Section[] } {
  const slugOf = createSlugs();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const id = slugOf(textOf(inner));
        return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const address = toAddress(href, page, site);
        const inner = this.parser.parseInline(tokens);
        return address === undefined ? inner : `<a href="${toHtml(address)}">${inner}</a>`;
      },
      image({ href, text }) {
        return `<img src="${toHtml(href.replace(/^docs\//, ''))}" alt="${toHtml(text)}">`;
      },
    },
  });
  const html = marked.parse(page.text, { async: false });
  const parts = html.split(/(?=<h[1-3] id=")/);
  const sections = parts.flatMap((part): Section[] => {
    const [, id = '', title = ''] = /^<h[1-3] id="([^"]*)">([\s\S]*?)<\/h[1-3]>/.exec(part) ?? [];
    const text = textOf(part.replace(/^<h[1-3][\s\S]*?<\/h[1-3]>/, ''));
    return id === '' ? [] : [{ id: `${page.address}#${id}`, page: page.title, title: textOf(title), text }];
  });
  return { html, sections };
}

interface Site {
  /** Of the pages, by their files. */
  addresses: ReadonlyMap<string, string>;
  /** Undefined: files that are no pages are not linked. */
  repository: string | undefined;
}

function toAddress(href: string, { file }: Page, { addresses, repository }: Site): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/.test(href) || href === 'openapi.json') return href;
  const [path = '', place] = href.split('#');
  const target = posix.join(posix.dirname(file), path);
  const address = addresses.get(target);
  if (address !== undefined) return `${address}${place === undefined ? '' : `#${place}`}`;
  return repository === undefined ? undefined : `${repository}/${target}`;
}

function shell(page: Page, { pages, html }: { pages: readonly Page[]; html: string }): string {
  const menu = pages.map(({ address, title }) => {
    const current = address === page.address ? ' aria-current="page"' : '';
    return `<li><a href="${address}"${current}>${toHtml(title)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toHtml(page.title)}${page.address === 'index.html' ? '' : ' · Data Hub'}</title>
<link rel="stylesheet" href="site.css">
<script type="module" src="search.js"></script>
</head>
<body>
<nav aria-label="Pages">
<form role="search"><label>Search <input type="search" id="search" autocomplete="off"></label><ol id="found" aria-live="polite"></ol></form>
<ul>
${menu.join('\n')}
</ul>
</nav>
<main>
${html}</main>
</body>
</html>
`;
}

export async function buildSite(dir: string, repository?: string): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const pages = await readPages();
  const addresses = new Map(pages.map(({ file, address }) => [file, address]));
  const search = new MiniSearch<Section>(searchFields);
  for (const page of pages) {
    const { html, sections } = render(page, { addresses, repository });
    search.addAll(sections);
    await writeFile(join(dir, page.address), shell(page, { pages, html }));
  }
  await writeFile(join(dir, 'search-index.json'), JSON.stringify(search));
  await writeFile(join(dir, 'openapi.json'), `${JSON.stringify(buildOpenApi(describeRoutes()), null, 1)}\n`);
  const here = dirname(fileURLToPath(import.meta.url));
  await cp(join(here, 'site.css'), join(dir, 'site.css'));
  // Browsers import files, not packages.
  const script = await readFile(join(here, 'search.js'), 'utf8');
  await writeFile(join(dir, 'search.js'), script.replace("from 'minisearch'", "from './minisearch.js'"));
  await cp(fileURLToPath(import.meta.resolve('minisearch')), join(dir, 'minisearch.js'));
  await cp(join(root, 'docs/images'), join(dir, 'images'), { recursive: true });
}

if (argv[1] === fileURLToPath(import.meta.url))
  await buildSite(argv[2] ?? join(root, '.cache/site'), argv[3]);
