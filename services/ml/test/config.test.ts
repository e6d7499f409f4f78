import { readSettings } from '@datahub/service-kit/settings/settings';
import { expect, it } from 'vitest';
import { readMlConfig } from '../src/config.ts';

const errorOf = (env: Record<string, string>): string => {
  try {
    readSettings({ DATAHUB_GENERATOR_MODEL: 'm', ...env }, readMlConfig);
    return '';
  } catch (err) {
    return String(err);
  }
};

it.each([
  [{ DATAHUB_GENERATOR_URL: 'https://u:canary@host/v1' }, 'must have no user and password'],
  [{ DATAHUB_GENERATOR_URL: 'canary.example' }, 'must be an address'],
  [{ DATAHUB_GENERATOR_URL: 'https://host/v1', DATAHUB_GENERATOR_API_KEY: 'canary\nb' }, 'visible ASCII'],
])('refuses what the client of the model would repeat in an error: %j', (env, text) => {
  const message = errorOf(env);
  expect(message).toContain(text);
  expect(message).not.toContain('canary');
});
