/**
 * Tests that each fact of packages/contract is stated once. The tests add a value to each fact in a copy of the tree,
 * and the compiler must report every place that has to change.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeRoutes } from '../../services/gateway/src/routes.ts';

const root = resolve(import.meta.dirname, '../..');
const contract = join(root, 'packages/contract');
let dir: string;
let errors: { file: string; text: string }[];

const additions = [
  ['scopes.ts', "  'keys:admin',", "  'keys:admin',\n  'reports:read',"],
  ['engines.ts', "'mongodb'] as const", "'mongodb', 'oracle'] as const"],
  [
    'key-limits.ts',
    "  strict: { kind: 'flag'",
    "  regions: { kind: 'list', enforcedBy: ['gateway', 'catalog', 'executor'] },\n  strict: { kind: 'flag'",
  ],
  [
    'source-settings.ts',
    "  srv: { kind: 'flag'",
    "  shards: { kind: 'flag', engines: ['mongodb'] },\n  srv: { kind: 'flag'",
  ],
] as const;

beforeAll(() => {
  const parent = join(root, '.cache');
  mkdirSync(parent, { recursive: true });
  dir = mkdtempSync(join(parent, 'one-place-'));
  cpSync(contract, dir, { recursive: true });
  for (const [file, from, to] of additions) {
    const path = join(dir, 'src', file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(from);
    writeFileSync(path, text.replace(from, to));
  }
  const services = ['services/*', 'packages/statement'].map((part) => join(root, part, 'src/**/*.ts'));
  errors = [
    ...compile('services.json', join(root, 'tsconfig.base.json'), services),
    ...compile(
      'console.json',
      join(root, 'packages/console/tsconfig.json'),
      ['state/key-form.ts', 'ui/format.ts', 'pages/source/settings.ts'].map((file) =>
        join(root, 'packages/console/src', file),
      ),
    ),
  ];
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function compile(name: string, base: string, include: string[]): { file: string; text: string }[] {
  const project = join(dir, name);
  const compilerOptions = { paths: { '@datahub/contract/*': [join(dir, 'src/*.ts')] } };
  writeFileSync(project, JSON.stringify({ extends: base, compilerOptions, include }));
  let output = '';
  try {
    execFileSync(
      process.execPath,
      [join(root, 'node_modules/.bin/tsc'), '-p', project, '--pretty', 'false'],
      {
        cwd: root,
        encoding: 'utf8',
        timeout: 170_000,
      },
    );
  } catch (err) {
    output = (err as { stdout: string }).stdout;
  }
  return [...output.matchAll(/^(\S+?)\(\d+,\d+\): error (.*(?:\n {2}.*)*)/gm)].map(
    ([, file = '', text = '']) => ({
      file: relative(root, resolve(root, file)),
      text,
    }),
  );
}

/** Matches the added names. The first name in an error is the one that the error is about. */
const additionsNamed = /reports:read|shards|oracle|regions/;
const filesNaming = (name: string) =>
  [
    ...new Set(errors.filter(({ text }) => additionsNamed.exec(text)?.[0] === name).map(({ file }) => file)),
  ].sort();

it('a new scope is reported where no route or service checks it', () => {
  expect(filesNaming('reports:read')).toEqual([
    'packages/console/src/state/key-form.ts',
    'services/gateway/src/http/route.ts',
  ]);
});

it('a scope that routes should check is reported if no route has it', () => {
  const text = readFileSync(join(root, 'services/gateway/src/http/route.ts'), 'utf8');
  const scopes = [...text.matchAll(/^ {2}'([\w:]+)': 'route',$/gm)].map(([, scope]) => scope);
  expect(scopes.length).toBeGreaterThan(10);
  const used = new Set(describeRoutes().map(({ scope }) => scope as string | undefined));
  expect(scopes.filter((scope) => !used.has(scope))).toEqual([]);
});

it('a new engine is reported where it lacks an adapter, a syntax or bounds', () => {
  expect(filesNaming('oracle')).toEqual([
    'packages/cli/src/files/new-hub.ts',
    'packages/console/src/pages/source/settings.ts',
    'packages/console/src/ui/format.ts',
    'packages/statement/src/sql/syntax.ts',
    'services/catalog/src/source-settings/secrets.ts',
    'services/executor/src/engines/index.ts',
    'services/executor/src/execution/draft.ts',
    'services/executor/src/telemetry/traces.ts',
  ]);
});

it('a new limit of keys is reported where it lacks a field, a schema or its enforcement', () => {
  const files = filesNaming('regions');
  expect(files).toEqual([
    'services/catalog/src/key-limits.ts',
    'services/catalog/src/rpc/to-proto.ts',
    'services/executor/src/execution/key-limits.ts',
    'services/gateway/src/access/key-limits.ts',
    'services/gateway/src/resources/key-bodies.ts',
    'services/gateway/src/resources/keys.ts',
  ]);
});

it('a new server setting is reported where it lacks a document, a schema or a field of the form', () => {
  expect(filesNaming('shards')).toEqual([
    'packages/console/src/pages/source/settings.ts',
    'services/catalog/src/source-settings/servers.ts',
    'services/catalog/src/source.ts',
    'services/gateway/src/resources/connection-settings.ts',
  ]);
});

it('nothing else is reported', () => {
  expect(
    errors.filter(
      ({ text }) => !/reports:read|oracle|regions|shards|'never'|Type 'N' cannot be used to index/.test(text),
    ),
  ).toEqual([]);
});
