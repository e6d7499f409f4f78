import { defineConfig } from 'vitest/config';

const sources = ['services', 'packages', 'proto', 'tools', 'bench'];
const exclude = ['**/node_modules/**'];
const withTools = ['tests/architecture/chart.test.ts', 'tests/architecture/openapi.test.ts'];

/** CI machines are shared, and the first tests run while servers are built: a test may miss a deadline once. It fails if it fails twice. */
const retry = process.env.CI ? 1 : 0;

/**
 * The console's jobs and what programs of clients do are the same over every form: `console.test.ts` and `client.test.ts`
 * say that they work there.
 */
const once = ['console-*', 'client-runtimes', 'types', 'python'].map((name) => `tests/e2e/${name}.test.ts`);

/** The whole suite over HTTP, against one form of the hub over one store, with an edge in front or without. */
const e2e = (name: string, env: Record<string, string>) => ({
  test: {
    name,
    env,
    include: ['tests/e2e/**/*.test.ts'],
    exclude: name === 'e2e-single' ? exclude : [...exclude, ...once],
    globalSetup: ['tests/support/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    retry,
  },
});

export default defineConfig({
  test: {
    // The tests wait more than they compute. By default one core would be left free.
    maxWorkers: '100%',
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
          testTimeout: 20_000,
          retry,
        },
      },
      // The tests whose tools `npm test` installs last: Helm, kubernetes-validate and schemathesis.
      { test: { name: 'tools', include: withTools, testTimeout: 120_000 } },
      {
        test: {
          name: 'servers',
          include: sources.map((dir) => `${dir}/**/*.servers.test.ts`),
          exclude,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          retry,
        },
      },
      {
        test: {
          name: 'chaos',
          include: ['tests/chaos/**/*.test.ts', 'tests/matrix/matrix.test.ts'],
          exclude,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          retry,
        },
      },
      e2e('e2e-single', { HUB_FORM: 'single', HUB_STORE: 'sqlite' }),
      e2e('e2e-distributed', { HUB_FORM: 'distributed', HUB_STORE: 'mongodb', HUB_EDGE: 'express-gateway' }),
      e2e('e2e-single-mongodb', { HUB_FORM: 'single', HUB_STORE: 'mongodb' }),
      e2e('e2e-distributed-sqlite', { HUB_FORM: 'distributed', HUB_STORE: 'sqlite', HUB_EDGE: 'none' }),
      e2e('e2e-replicas', { HUB_FORM: 'replicas', HUB_STORE: 'mongodb', HUB_EDGE: 'none' }),
      e2e('e2e-single-edge', { HUB_FORM: 'single', HUB_STORE: 'sqlite', HUB_EDGE: 'express-gateway' }),
    ],
  },
});
