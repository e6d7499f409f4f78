import { defineConfig } from 'vitest/config';

const sources = ['services', 'packages', 'proto', 'tools', 'bench'];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [...sources.map((dir) => `${dir}/**/*.test.ts`), 'tests/architecture/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/*.servers.test.ts'],
        },
      },
      {
        test: {
          name: 'servers',
          include: sources.map((dir) => `${dir}/**/*.servers.test.ts`),
          exclude: ['**/node_modules/**'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['tests/e2e/**/*.test.ts', 'tests/chaos/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
