import { readSettings } from '@datahub/service-kit/settings/settings';
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
