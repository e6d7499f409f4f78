import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './tests/support/slowest-first.ts';

const sources = ['services', 'packages', 'proto', 'tools', 'bench'];
const exclude = ['**/node_modules/**'];
const withTools = ['chart', 'openapi', 'workflows'].map((name) => `tests/architecture/${name}.test.ts`);

/**
 * The deadlines end tests that hang. No test may depend on the machine's speed, so they are far above what any of them
 * takes. CI machines are shared: there, and only there, a test has a second try until three whole runs without one
 * have passed.
 */
const limits = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  retry: process.env.CI ? 1 : 0,
  expect: { poll: { timeout: 20_000 } },
};

/**
 * The tests over HTTP whose result can depend on the form of the hub: calls between processes, streams and their
 * cancellation, caches that several processes keep, and what the edge passes on. `npm test` runs only these against
 * four processes; CI and `npm run test:all` run the others there too.
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

const distributedFiles = process.env.TEST_EXTENT === 'quick' ? dependOnForm : ['tests/e2e/**/*.test.ts'];

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
  'signed-in-page',
  'statement-comments',
].map((name) => `tests/e2e/${name}.test.ts`);

/** The whole suite over HTTP, against one form of the hub over one store, with an edge in front or without. */
const e2e = (name: string, env: Record<string, string>) => ({
  test: {
    name,
    env,
    include: name === 'e2e-distributed' ? distributedFiles : ['tests/e2e/**/*.test.ts'],
    exclude: name === 'e2e-single' ? exclude : [...exclude, ...once],
    globalSetup: ['tests/support/setup.ts'],
    ...limits,
  },
});

export default defineConfig({
  test: {
    // The tests wait more than they compute. By default one core would be left free.
    maxWorkers: '100%',
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
          ...limits,
        },
      },
      // The tests that need tools which `npm test` installs: Helm, kubernetes-validate, schemathesis and actionlint.
      { test: { name: 'tools', include: withTools, ...limits } },
      {
        test: {
          name: 'servers',
          include: sources.map((dir) => `${dir}/**/*.servers.test.ts`),
          exclude,
          ...limits,
        },
      },
      {
        test: {
          name: 'chaos',
          include: ['tests/chaos/**/*.test.ts', 'tests/matrix/matrix.test.ts'],
          exclude,
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
