import { defineConfig } from 'vitest/config';
import { compileCache } from './packages/service-kit/compile-cache.mjs';
import { SlowestFirst, workers } from './tests/support/schedule.ts';

const sources = ['services', 'packages', 'proto', 'tools', 'bench'];
const exclude = ['**/node_modules/**'];
const architecture = (...names: string[]) => names.map((name) => `tests/architecture/${name}.test.ts`);
const withTools = architecture('chart', 'openapi', 'release-files', 'workflows');

// A start of the hub takes half the time if its code is compiled, as it is for `npm start`.
process.env.NODE_COMPILE_CACHE ??= compileCache;

/**
 * What a run is for: `quick` is `npm test`; `added` is what `npm run test:all` runs besides. Without it, as in
 * `npx vitest run tests/chaos/keys.test.ts`, all files belong to their projects.
 */
const extent = process.env.TEST_EXTENT;

/**
 * The deadlines end tests that hang. No test may depend on the machine's speed, so they are far above what any of them
 * takes. `tools/test.ts` runs a file that fails with servers once more, and lists what passes then.
 */
const limits = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
};

/** A third less CPU for unit tests: a worker loads and compiles a module once. So no test may mock one. */
const isolate = false;

/**
 * The tests over HTTP whose result can depend on the form of the hub: calls between processes, streams and their
 * cancellation, caches that several processes keep, and what the edge passes on. `npm test` runs these against four
 * processes and the others against one; `npm run test:all` also the other way round.
 */
const dependOnForm = [
  ...[
    'annotate',
    'answers',
    'auth',
    'cache',
    'classifier-import',
    'client',
    'compression',
    'data',
    'execute',
  ],
  ...['idempotency', 'jobs', 'requests', 'sessions', 'statistics', 'streams', 'summaries'],
].map((name) => `tests/e2e/${name}.test.ts`);

/**
 * `npm test` should end within eight minutes, so it leaves these to `npm run test:all`: faults under load, starts and kills
 * of many processes, backups and upgrades, tunnels, and pages of the console beyond those that it opens anyway.
 */
const faults = [
  ...['addresses', 'agents', 'backup', 'canary', 'cut-streams', 'cut-writes'],
  ...[
    'died-in-commit',
    'documented-commands',
    'ends-of-writes',
    'first-start',
    'frozen',
    'full-disk',
    'full-heap',
  ],
  ...['gateways', 'held-answers', 'inner-messages', 'kill', 'lost-executor', 'memory', 'ml-replicas'],
  ...['money', 'no-binary-log', 'npm-start', 'observability', 'operator', 'providers', 'receivers'],
  ...['paused', 'replicas', 'rollout', 'rotation', 'sealed', 'slots', 'small-chunks'],
  ...['source-faults', 'stalls/storms', 'start-output', 'store-away', 'store-gone', 'training-jobs'],
  ...['unread-responses'],
  ...['upgrade', 'waiting', 'watches', 'workers', 'writing-watches'],
].map((name) => `tests/chaos/${name}.test.ts`);
const pages = [
  ...[
    'access',
    'account',
    'changed',
    'classifiers',
    'completion',
    'docs',
    'drafts',
    'endings',
    'examples',
    'hostile',
    'keyboard',
  ],
  ...[
    'keyboard-changes',
    'kept',
    'lost-answers',
    'results',
    'rows',
    'said',
    'shown',
    'sources',
    'statistics',
    'typing',
    'upkeep',
  ],
  'versions',
].map((name) => `tests/e2e/console-${name}.test.ts`);
const programs = [
  'attacking-pages',
  'attribution',
  'ci-workflows',
  'hub-files-races',
  'ssh',
  'transaction-runs',
].map((name) => `tests/e2e/${name}.test.ts`);
const single = [...pages, ...programs];

/**
 * The console's jobs, what programs of clients do, and the statements that databases get are the same over every form:
 * `console.test.ts` and `client.test.ts` say that they work there. The tools of a database that `statement-comments`
 * reads are settings of the whole server, so two forms cannot share them.
 */
const once = [
  'console-*',
  'client-runtimes',
  'types',
  'python',
  'cli',
  'hub-files',
  'hub-files-races',
  'attribution',
  'ci-workflows',
  'signed-in-page',
  'statement-comments',
].map((name) => `tests/e2e/${name}.test.ts`);

/** The chart and a release need Helm, whose build takes all cores for a minute. */
const toolFiles =
  {
    quick: architecture('openapi', 'workflows'),
    added: architecture('openapi', 'chart', 'release-files'),
  }[extent ?? ''] ?? withTools;

const overHttp = ['tests/e2e/**/*.test.ts'];
const isQuick = extent === 'quick';
const chaosFiles = ['tests/chaos/**/*.test.ts', 'tests/matrix/matrix.test.ts'];

/** The tests over HTTP that one form of the hub runs: these, without those. */
function filesOf(form: string): [these: string[], those: string[]] {
  if (form === 'e2e-single') {
    if (extent === undefined) return [overHttp, []];
    return isQuick ? [overHttp, [...dependOnForm, ...single]] : [[...dependOnForm, ...single], []];
  }
  if (form !== 'e2e-distributed' || extent === undefined) return [isQuick ? dependOnForm : overHttp, once];
  return isQuick ? [dependOnForm, once] : [overHttp, [...once, ...dependOnForm]];
}

/** Tests over HTTP, against one form of the hub over one store, with an edge in front or without. */
function e2e(name: string, env: Record<string, string>) {
  const [include, those] = filesOf(name);
  const setup = { globalSetup: ['tests/support/setup.ts'], setupFiles: ['tests/support/after-file.ts'] };
  return {
    test: { name, env, include, exclude: [...exclude, ...those], ...setup, isolate, ...limits },
  };
}

export default defineConfig({
  test: {
    maxWorkers: workers,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            ...sources.map((dir) => `${dir}/**/*.test.ts`),
            'tests/architecture/**/*.test.ts',
            'tests/matrix/table.test.ts',
          ],
          exclude: [...exclude, '**/*.servers.test.ts', ...withTools],
          isolate,
          ...limits,
        },
      },
      // The tests that need schemathesis and actionlint, which `npm test` installs, or Helm and kubernetes-validate.
      { test: { name: 'tools', include: toolFiles, ...limits } },
      {
        test: {
          name: 'servers',
          include: sources.map((dir) => `${dir}/**/*.servers.test.ts`),
          exclude,
          isolate,
          ...limits,
        },
      },
      {
        test: {
          name: 'chaos',
          include: extent === 'added' ? faults : chaosFiles,
          exclude: isQuick ? [...exclude, ...faults] : exclude,
          isolate,
          ...limits,
        },
      },
      e2e('e2e-single', { HUB_FORM: 'single', HUB_STORE: 'sqlite' }),
      e2e('e2e-distributed', { HUB_FORM: 'distributed', HUB_STORE: 'mongodb', HUB_EDGE: 'express-gateway' }),
      e2e('e2e-single-mongodb', { HUB_FORM: 'single', HUB_STORE: 'mongodb' }),
      e2e('e2e-distributed-sqlite', { HUB_FORM: 'distributed', HUB_STORE: 'sqlite', HUB_EDGE: 'none' }),
      e2e('e2e-workers', { HUB_FORM: 'workers', HUB_STORE: 'sqlite' }),
      e2e('e2e-replicas', { HUB_FORM: 'replicas', HUB_STORE: 'mongodb', HUB_EDGE: 'none' }),
      e2e('e2e-single-edge', { HUB_FORM: 'single', HUB_STORE: 'sqlite', HUB_EDGE: 'express-gateway' }),
    ],
  },
});
