/** The rules of CONTRIBUTING.md that a test can check. exceptions.ts lists the exceptions with their reasons. */

import { readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readIgnore } from '../../deploy/dockerfile-steps.ts';
import { exceptions, type Rule } from './exceptions.ts';
import { importCircles, reachableFrom } from './import-graph.ts';
import { readSource, readSourceTree, root, type SourceFile, type SourceFunction } from './source-tree.ts';

const tree = readSourceTree();
const all = [...tree.values()];
const isTest = ({ path }: SourceFile) => path.endsWith('.test.ts');
const isTestCode = ({ path }: SourceFile) => isTest({ path } as SourceFile) || /(^|\/)tests?\//.test(path);
const isProduct = ({ path }: SourceFile) => /^(services|packages)\/[^/]+\/src\//.test(path);
const fileOf = (name: string) => tree.get(name.split('#')[0] ?? '');

/** The entry points of programs. */
const programs = [
  ...['gateway', 'catalog', 'executor', 'ml'].map((name) => `services/${name}/src/main.ts`),
  'packages/cli/src/main.ts',
  ...['main', 'cli', 'distributed', 'demo-database', 'workers/owner', 'workers/worker'].map(
    (name) => `services/hub/src/${name}.ts`,
  ),
];

/** The programs that a browser runs. Images contain their bundles instead of these files. */
const browserPrograms = [
  'app/main.tsx',
  'pages/lazy-views.ts',
  'ui/editor/editor.ts',
  'ui/editor/format.ts',
  'ui/chart/chart.ts',
  'state/schema/worker.ts',
  'pages/docs/docs.ts',
].map((name) => `packages/console/src/${name}`);

/** The library that other programs import, and the tools that build it and the command line. */
const libraries = ['client/src/index.ts', 'client/src/webhooks.ts', 'client/build.ts', 'cli/build.ts'].map(
  (name) => `packages/${name}`,
);

/** Requires that violations and exceptions are equal, so that new violations and unused exceptions fail. */
function expectOnlyExceptions(rule: Rule, violations: string[]): void {
  const named = Object.keys(exceptions[rule]);
  const found = [...new Set(violations)].sort();
  expect(found).toEqual(named.sort());
}

/** Functions outside of tests that break a rule. */
const functionsWhere = (isWrong: (one: SourceFunction, path: string) => boolean) =>
  all
    .filter((file) => !isTest(file))
    .flatMap(({ path, functions }) =>
      functions.filter((one) => isWrong(one, path)).map(({ name }) => `${path}#${name}`),
    );

describe('the size', () => {
  it('of a file is at most 400 lines', () => {
    expectOnlyExceptions(
      'fileLength',
      all.filter(({ lines }) => lines > 400).map(({ path }) => path),
    );
  });

  it('of a folder is at most 25 files, tests aside', () => {
    const sizes = new Map<string, number>();
    for (const { path } of all.filter((file) => !isTest(file))) {
      sizes.set(dirname(path), (sizes.get(dirname(path)) ?? 0) + 1);
    }
    expectOnlyExceptions(
      'folderSize',
      [...sizes].filter(([, count]) => count > 25).map(([folder]) => folder),
    );
  });

  it('of a function is at most 70 lines', () => {
    expectOnlyExceptions(
      'functionLength',
      functionsWhere(({ lines }) => lines > 70),
    );
  });

  // The encoders of values have (out, bytes, start, end), because an options object would be allocated for each value.
  const perValue = /^services\/executor\/src\/(engines|result)\//;

  it('of a parameter list is at most three, or four for the encoders of values', () => {
    expectOnlyExceptions(
      'parameters',
      functionsWhere(({ parameters }, path) => parameters > (perValue.test(path) ? 4 : 3)),
    );
  });
});

describe('state', () => {
  // The console may have module state, because it is a program whose state is that of its tab.
  const isTab = ({ path }: SourceFile) => path.startsWith('packages/console/');

  it('is not in modules of the product', () => {
    expectOnlyExceptions(
      'moduleState',
      all
        .filter((file) => isProduct(file) && !isTab(file))
        .flatMap(({ path, mutableState }) => mutableState.map((name) => `${path}#${name}`)),
    );
  });
});

describe('JSON', () => {
  // The console and the command line read what their own user asked for.
  const isOfUser = ({ path }: SourceFile) => /^packages\/(console|cli|client)\//.test(path);

  it('is parsed without a reviver, which takes a second for a megabyte of tiny values', () => {
    const argument = '(?:[^(),]|\\((?:[^()]|\\([^()]*\\))*\\))*';
    const reviver = new RegExp(`\\bJSON\\.parse(?: as |[;,)])|\\bJSON\\.parse\\(${argument},(?!\\s*\\))`);
    expect(reviver.test('JSON.parse(text, (_key, value) => value)')).toBe(true);
    expect(reviver.test('JSON.parse as unknown')).toBe(true);
    expect(reviver.test('JSON.parse(text.slice(1, 2))')).toBe(false);
    const found = all.filter(
      (file) =>
        isProduct(file) && !isOfUser(file) && reviver.test(readFileSync(join(root, file.path), 'utf8')),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

describe('members of classes', () => {
  it('are private by name, which holds at run time too', () => {
    const modifier = /^\s*private\s+(?!=)[\w#]/m;
    const offenders = all.filter(
      (file) => isProduct(file) && modifier.test(readFileSync(join(root, file.path), 'utf8')),
    );
    expect(offenders.map(({ path }) => path)).toEqual([]);
  });
});

describe('imports', () => {
  it('form no circle, not even of types', () => {
    expectOnlyExceptions(
      'importCircle',
      importCircles(tree).map((circle) => circle.join(' ↔ ')),
    );
  });

  it('of the console point down, from app to api', () => {
    const layers = ['api', 'state', 'ui', 'pages', 'app'];
    const layerOf = (path: string) => /^packages\/console\/src\/([^/]+)\//.exec(path)?.[1];
    const wrong = all.flatMap(({ path, imports }) => {
      const layer = layerOf(path);
      if (layer === undefined) return [];
      const above = imports.filter((target) => layers.indexOf(layerOf(target) ?? '') > layers.indexOf(layer));
      return layers.includes(layer) ? above.map((target) => `${path} → ${target}`) : [path];
    });
    expect(wrong).toEqual([]);
  });

  it('form no circle of folders, besides a folder and those inside it', () => {
    const isInside = (one: string, other: string) => `${one}/`.startsWith(`${other}/`);
    const folders = new Map<string, { imports: string[] }>();
    for (const { path, imports } of all.filter(isProduct)) {
      const folder = dirname(path);
      const targets = imports.filter((target) => isProduct({ path: target } as SourceFile)).map(dirname);
      const others = targets.filter((other) => !isInside(folder, other) && !isInside(other, folder));
      folders.set(folder, { imports: [...(folders.get(folder)?.imports ?? []), ...others] });
    }
    expect(importCircles(folders).map((circle) => circle.join(' ↔ '))).toEqual([]);
  });

  it('name files that exist', () => {
    const missing = all.flatMap(({ path, imports }) =>
      imports
        .filter((target) => !tree.has(target) && !/\/(gen|dist|node_modules)\//.test(`/${target}`))
        .map((target) => `${path} → ${target}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('src', () => {
  it('contains no test, and imports no test tools', () => {
    const wrong = all.filter(isProduct).flatMap((file) => {
      const targets = file.imports.filter((target) => isTestCode({ path: target } as SourceFile));
      const packages = file.packages.filter((name) => /^(vitest|fast-check|playwright-core)/.test(name));
      return [...targets, ...packages].map((target) => `${file.path} → ${target}`);
    });
    expect(wrong).toEqual([]);
    expect(all.filter((file) => isProduct(file) && isTestCode(file))).toEqual([]);
  });

  it('contains nothing that only tests use: every file is reachable from a program', () => {
    const reached = reachableFrom(tree, [...programs, ...browserPrograms, ...libraries]);
    const unused = all.filter((file) => isProduct(file) && !reached.has(file.path));
    expect(unused.map(({ path }) => path)).toEqual([]);
  });
});

describe('tests', () => {
  it('mock no modules, which all files of a worker share', () => {
    const mocking = all.filter(isTestCode).filter(({ text }) => /\bvi\.(?:doM|m)ock\(/.test(text));
    expect(mocking.map(({ path }) => path)).toEqual([]);
  });
});

describe('images', () => {
  const kept = readIgnore(readFileSync(join(root, '.dockerignore'), 'utf8'), matchesGlob);

  it('contain no test code, and everything that their programs import', () => {
    expect(all.filter((file) => kept(file.path) && isTestCode(file)).map(({ path }) => path)).toEqual([]);
    const reached = reachableFrom(tree, programs);
    expect([...reached].filter((path) => !kept(path))).toEqual([]);
  });
});

describe('the exceptions', () => {
  it('name files that exist, each with a reason', () => {
    for (const [name, reason] of Object.values(exceptions).flatMap(Object.entries)) {
      const paths = name.split(' ↔ ');
      expect(paths.filter((path) => fileOf(path) === undefined && !path.endsWith('/src'))).toEqual([]);
      expect(reason).toMatch(/^[A-Z].{15,}\.$/);
    }
  });
});

describe('the reader of sources', () => {
  const read = (text: string) => readSource('packages/contract/src/example.ts', text);

  it('counts the lines and parameters of every form of function', () => {
    const text =
      'export function a(b: 1, c: 2) {\n}\nconst d = (e = 1, ...f: number[]) => e;\nclass G { h(i: 1) {} }';
    expect(read(text).functions).toEqual([
      { name: 'a', line: 1, lines: 2, parameters: 2 },
      { name: 'd', line: 3, lines: 1, parameters: 2 },
      { name: 'h', line: 4, lines: 1, parameters: 1 },
    ]);
  });

  it.each([
    ['a variable', 'let a = 1;', ['a']],
    ['an exported one', 'export let a = 1;', ['a']],
    ['a map that is written to', 'const a = new Map(); export const b = () => a.set(1, 2);', ['a']],
    ['a map that is only read', 'const a = new Map([[1, 2]]); export const b = () => a.get(1);', []],
    ['a member that is assigned', 'const a = { b: 1 }; export const c = () => { a.b++; };', ['a']],
    ['a static field', 'class A { static b = 1; static readonly c = 2; }', ['A.b']],
    ['a variable of a function', 'export function a() { let b = 1; b++; }', []],
  ])('finds the state in %s', (_name, text, state) => expect(read(text).mutableState).toEqual(state));

  it.each([
    ['a type', "import type { A } from './a.ts';"],
    ['an inline type', "export type B = import('./a.ts').A;"],
    ['a re-export', "export { A } from './a.ts';"],
    ['a dynamic import', "export const b = () => import('./a.ts');"],
    ['a worker', "new Worker(new URL('./a.ts', import.meta.url));"],
    ['a package of the repository', "import { a } from '@datahub/contract/a';"],
  ])('follows the import of %s', (_name, text) => {
    expect(read(text).imports).toEqual(['packages/contract/src/a.ts']);
  });

  it('finds circles', () => {
    const file = (path: string, imports: string[]) => [path, { ...read(''), path, imports }] as const;
    const graph = new Map([file('a', ['b']), file('b', ['c']), file('c', ['b']), file('d', ['d'])]);
    expect(importCircles(graph)).toEqual([['b', 'c'], ['d']]);
  });
});
