import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { bundle } from '../bundle.ts';

const dist = new URL('../dist/', import.meta.url);

it('is committed as its sources make it: npm run build -w packages/console', async () => {
  const files = await bundle();
  expect(readdirSync(dist).sort()).toEqual([...files.keys()].sort());
  const stale = [...files].filter(([name, content]) => !readFileSync(new URL(name, dist)).equals(content));
  expect(stale.map(([name]) => name)).toEqual([]);
});

it('loads its first page in at most 60 kB', () => {
  const first = ['index.html', 'console.js'].map(
    (name) => brotliCompressSync(readFileSync(new URL(name, dist))).length,
  );
  const total = first.reduce((sum, size) => sum + size, 0);
  console.log(`first page: ${total} bytes`);
  expect(total).toBeLessThanOrEqual(60_000);
});

const root = fileURLToPath(new URL('../src/', import.meta.url));
const sources = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.test.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

it('makes no markup of texts, runs no text as code, and names no other host', () => {
  const forbidden =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|DOMParser|createContextualFragment|\beval\b|new Function|https?:\/\/(?!shop\.example)/;
  const found = sources.map((path) => [
    relative(root, path),
    forbidden.exec(readFileSync(path, 'utf8'))?.[0],
  ]);
  expect(found.filter(([, match]) => match !== undefined)).toEqual([]);
});

it('keeps the key in one place, and nothing else but drafts, changes of boards, the id of the tab, the theme, open folders, sizes of panes and the last event seen', () => {
  const keeping = sources.filter((path) => /indexedDB/.test(readFileSync(path, 'utf8')));
  expect(keeping.map((path) => relative(root, path))).toEqual(['state/drafts/draft-store.ts']);
  // The cookie that says that there is a session, and no more.
  const ofCookies = sources.filter((path) => /document\.cookie/.test(readFileSync(path, 'utf8')));
  expect(ofCookies.map((path) => relative(root, path))).toEqual(['api/session.ts']);
  const using = sources.filter((path) =>
    /^(?! *[/*]).*\b(local|session)Storage\b/m.test(readFileSync(path, 'utf8')),
  );
  expect(using.map((path) => relative(root, path))).toEqual(['api/storage.ts']);
  const storing = sources.filter((path) => /of(Tab|Browser)\.set/.test(readFileSync(path, 'utf8')));
  expect(storing.map((path) => relative(root, path)).sort()).toEqual([
    'api/session.ts',
    'pages/board/unsaved.ts',
    'pages/watches/seen-event.ts',
    'state/drafts/tab.ts',
    'state/open-folders.ts',
    'state/panes.ts',
    'state/theme.ts',
  ]);
});
