import { readSettings } from '@datahub/service-kit/settings/settings';
import { settings } from '@datahub/service-kit/settings/settings-table';
import { expect, test } from 'vitest';
import { readGatewayConfig } from '../src/config.ts';

const originsOf = (text: string) =>
  readSettings(
    { DATAHUB_CORS_ORIGINS: text },
    (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }).corsOrigins,
  );

test('origins are taken as browsers write them, and others are refused: they would never be met', () => {
  expect(originsOf('https://app.example, http://127.0.0.1:3000')).toHaveLength(2);
  expect(originsOf('*')).toEqual(['*']);
  for (const bad of ['app.example', 'https://app.example/', 'https://App.example', 'https://*.example/x'])
    expect(() => originsOf(bad)).toThrow('DATAHUB_CORS_ORIGINS');
});

test('clients cannot register themselves where agents cannot connect by address', () => {
  const registering = (origin: string | undefined) => () =>
    readSettings(
      { DATAHUB_OAUTH_REGISTRATION: '1', ...(origin && { DATAHUB_PUBLIC_ORIGIN: origin }) },
      (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }),
    );
  expect(registering('https://hub.example')).not.toThrow();
  for (const origin of [undefined, 'http://hub.example'])
    expect(registering(origin)).toThrow('DATAHUB_OAUTH_REGISTRATION needs DATAHUB_PUBLIC_ORIGIN');
});

test('trusted proxies are addresses and ranges', () => {
  const proxiesOf = (text: string) =>
    readSettings(
      { DATAHUB_TRUSTED_PROXIES: text },
      (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }).trustedProxies,
    );
  expect(proxiesOf('10.0.0.0/8, 127.0.0.1, ::1, fd00::/8')).toHaveLength(4);
  for (const bad of ['10.0.0.0/33', '10.0.0.0/8/9', '::/129', '10.0.0.0/', 'proxy.example'])
    expect(() => proxiesOf(bad)).toThrow('DATAHUB_TRUSTED_PROXIES');
});

test('a budget of responses has room for the largest, as the table of settings says', () => {
  const boundsOf = (env: Record<string, string>) =>
    readSettings(env, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  const least = { DATAHUB_KEY_RESPONSES_BYTES_MAX: 33_554_432, DATAHUB_RESPONSES_BYTES_MAX: 67_108_864 };
  for (const [name, bytes] of Object.entries(least)) {
    expect(() => boundsOf({ [name]: String(bytes) })).not.toThrow();
    expect(() => boundsOf({ [name]: String(bytes - 1) })).toThrow(
      `${name} must be a whole number from ${bytes} to 4294967296.`,
    );
    expect(settings[name as keyof typeof least].range[0]).toBe(bytes);
  }
});
