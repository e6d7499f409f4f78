import { SettingsError } from '@datahub/service-kit/settings';
import { expect, test } from 'vitest';
import { readExecutorConfig } from './config.ts';

test('the embedded form may reach the machine and its network, services that run apart may not', () => {
  expect(readExecutorConfig({}, { embedded: true }).addresses).toMatchObject({
    loopbackAllowed: true,
    privateAllowed: true,
  });
  expect(readExecutorConfig({}, { embedded: false }).addresses).toMatchObject({
    loopbackAllowed: false,
    privateAllowed: false,
  });
  const env = {
    DATAHUB_SOURCES_PRIVATE: '1',
    DATAHUB_SOURCES_ALLOW: '10.0.0.0/8, db.example',
    DATAHUB_OWN_NAMES: 'catalog',
  };
  expect(readExecutorConfig(env, { embedded: false }).addresses).toEqual({
    loopbackAllowed: false,
    privateAllowed: true,
    allow: ['10.0.0.0/8', 'db.example'],
    deny: [],
    ownNames: ['catalog'],
  });
});

test('every fault is named at once', () => {
  const env = {
    DATAHUB_SOURCES_DENY: '10.0.0.0/40',
    DATAHUB_POOL_MAX: '0',
    DATAHUB_CONNECT_TIMEOUT_MS: '5000',
    DATAHUB_STATEMENT_TIMEOUT_MS: 'soon',
  };
  const read = () => readExecutorConfig(env, { embedded: true });
  expect(read).toThrow(SettingsError);
  for (const name of Object.keys(env)) expect(read).toThrow(name);
});

test('the line grows with the pool', () => {
  expect(readExecutorConfig({ DATAHUB_POOL_MAX: '20' }, { embedded: true }).pool).toMatchObject({
    sizeMax: 20,
    queueMax: 100,
  });
});
