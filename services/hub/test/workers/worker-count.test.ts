import { availableParallelism } from 'node:os';
import { SettingsError } from '@datahub/service-kit/settings/settings';
import { expect, it } from 'vitest';
import { readWorkerCount } from '../../src/workers/worker-count.ts';

it.each([
  { args: [], env: {}, count: 1 },
  { args: ['--workers', '3'], env: {}, count: 3 },
  { args: [], env: { DATAHUB_WORKERS: '2' }, count: 2 },
  { args: ['--workers=4'], env: { DATAHUB_WORKERS: '2' }, count: 4 },
  { args: ['--workers', 'auto'], env: {}, count: Math.min(availableParallelism(), 64) },
])('reads $args and $env as $count', ({ args, env, count }) => {
  expect(readWorkerCount(args, env)).toBe(count);
});

it.each([
  ['--workers', '0'],
  ['--workers', '65'],
  ['--workers', 'many'],
  ['--workers'],
  ['--worker', '2'],
  ['2'],
])('refuses %s %s', (...args) => {
  expect(() => readWorkerCount(args, {})).toThrow(SettingsError);
});

it('names every wrong setting beside a wrong number of workers', () => {
  const env = { DATAHUB_WORKERS: '900', PORT: 'abc', DATAHUB_LOG_LEVEL: 'loud' };
  expect(() => readWorkerCount([], env)).toThrow(
    /DATAHUB_WORKERS must be .*\n.*PORT must be .*\n.*DATAHUB_LOG_LEVEL must be/,
  );
});
