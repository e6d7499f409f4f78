import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../packages/service-kit/src/call/error.ts';
import { describeRoutes } from '../../services/gateway/src/routes.ts';
import { writeTables } from '../../tools/settings-page.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const api = read('docs/api.md');

describe('docs/api.md', () => {
  const routes = describeRoutes();

  it.each(routes.map(({ method, path, scope }) => [`${method} ${path}`, scope ?? 'any key']))(
    'names %s and %s',
    (route, scope) => {
      const line = api.split('\n').find((one) => one.includes(`\`${route}\``));
      expect(line, `${route} is in no line of the table`).toBeDefined();
      expect(line).toContain(scope === 'any key' ? scope : `\`${scope}\``);
    },
  );

  it.each(errorCodes)('names %s', (code) => expect(api).toContain(`\`${code}\``));
});

describe('docs/configuration.md', () => {
  const configuration = read('docs/configuration.md');

  it('has the table of settings (npm run settings-page)', () => {
    expect(configuration).toBe(writeTables(configuration));
  });

  const settings = ['services', 'packages']
    .flatMap((dir) => readdirSync(join(root, dir), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .filter((entry) => !entry.parentPath.includes('node_modules'))
    .flatMap((entry) => [
      ...readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(/'(DATAHUB_[A-Z_]+)'/g),
    ])
    .map(([, name = '']) => name);

  it.each([...new Set(settings)].sort())('names %s', (name) =>
    expect(configuration).toContain(`\`${name}\``),
  );
});

describe('docs/operations.md', () => {
  const operations = read('docs/operations.md');
  const troubleshooting = operations.slice(
    operations.indexOf('## Troubleshooting'),
    operations.indexOf('## Dashboard'),
  );
  const matches = (text: string, pattern: RegExp) => [
    ...new Set([...text.matchAll(pattern)].map(([, name = '']) => name)),
  ];
  const sources = ['services', 'packages']
    .flatMap((dir) => readdirSync(join(root, dir)).map((name) => join(root, dir, name, 'src')))
    .filter((dir) => existsSync(dir))
    .flatMap((dir) => readdirSync(dir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');

  it('names metrics, events of the log and messages that exist', () => {
    const metrics = matches(operations, /(datahub_[a-z_]+)/g);
    const events = matches(troubleshooting, /`((?!pool\.)[a-z]+\.[a-z]+)`/g).map((name) => `'${name}'`);
    const messages = matches(troubleshooting, /^\|[^|]*?"([^"|]+?)\.?"/gm);
    expect(Math.min(metrics.length, events.length)).toBeGreaterThan(10);
    expect(messages.length).toBeGreaterThan(4);
    expect([...metrics, ...events, ...messages].filter((name) => !sources.includes(name))).toEqual([]);
  });
});

describe('docs/dependencies.md', () => {
  const listed = read('docs/dependencies.md');
  const manifests = ['package.json', 'proto/package.json'].concat(
    ['services', 'packages'].flatMap((dir) =>
      readdirSync(join(root, dir)).map((name) => `${dir}/${name}/package.json`),
    ),
  );

  it.each(manifests)('names the runtime dependencies of %s, at most ten', (path) => {
    const { dependencies = {} } = JSON.parse(read(path)) as { dependencies?: Record<string, string> };
    const foreign = Object.keys(dependencies).filter((name) => !name.startsWith('@datahub/'));
    expect(foreign.filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
    const lines = listed.split('\n').filter((line) => foreign.some((name) => line.includes(`\`${name}\``)));
    expect(lines.length).toBeLessThanOrEqual(10);
  });
});

describe('docs/architecture.md', () => {
  const text = read('docs/architecture.md');
  const changes = text
    .slice(text.indexOf('## To change this'), text.indexOf('## The tree'))
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| to |'));
  const pathsIn = (line: string) =>
    [...line.matchAll(/`((?:services|packages|proto|docs|deploy|tests|bench|tools)(?:\/[^`*]*)?)`/g)].map(
      ([, path = '']) => path,
    );

  it('says where to make common changes', () => {
    expect(changes.length).toBeGreaterThanOrEqual(10);
    expect(changes.filter((line) => pathsIn(line).length === 0)).toEqual([]);
  });

  it('names paths that exist', () => {
    expect(pathsIn(text).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('says in a sentence what is in each folder of a service or package', () => {
    const folders = ['services', 'packages'].flatMap((dir) =>
      readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, entry.parentPath).replaceAll(sep, '/'))
        .filter((path) => /^[^/]+\/[^/]+\/src\/(?!.*node_modules)/.test(path)),
    );
    const described = [...text.matchAll(/^\| `([^`]+\/src\/[^`]+)` \| \S+ .+ \|$/gm)].map(([, path]) => path);
    expect(described.sort()).toEqual([...new Set(folders)].sort());
  });

  it('describes every service and package', () => {
    const folders = ['services', 'packages'].flatMap((dir) =>
      readdirSync(join(root, dir)).map((name) => `${dir}/${name}`),
    );
    expect(folders.filter((folder) => !text.includes(`| \`${folder}\` |`))).toEqual([]);
  });
});

describe('links between the pages', () => {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter(
    (name) => name.endsWith('.md'),
  );
  const anchorsOf = (page: string) =>
    [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each(pages)('of %s lead to headings that exist', (page) => {
    const links = [...read(page).matchAll(/\]\(([^()\s:]*\.md)?#([^()\s]+)\)/g)];
    const broken = links.filter(([, path, anchor = '']) => {
      const target = path === undefined ? page : join(page, '..', path);
      return !existsSync(join(root, target)) || !anchorsOf(target).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

describe('the tests that docs name', () => {
  const names = ['security', 'api', 'executing', 'definitions', 'operations'];
  const pages = names.map((name) => `docs/${name}.md`);

  it('exist', () => {
    const named = pages
      .flatMap((page) => [...read(page).matchAll(/`((?:services|packages|tests|bench)\/[^`*]+)`/g)])
      .map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('stand beside each promise, bound and fault', () => {
    const tested = pages
      .flatMap((page) => read(page).split(/^##+ /m))
      .filter((section) => section.includes('| tested by |'))
      .flatMap((section) => section.split('\n'))
      .filter((line) => line.startsWith('| ') && !line.includes('| tested by |'));
    expect(tested.length).toBeGreaterThan(50);
    const isNamed = (cell: string) => /`(services|packages|tests|bench)\/[^`]+`|the same/.test(cell);
    expect(tested.filter((line) => !isNamed(line.split(' | ').at(-1) ?? ''))).toEqual([]);
  });
});
