import { expect, it } from 'vitest';
import { SourceVariables, toFileSettings } from '../../src/files/hub-file.ts';

const settings = (more: object = {}) => ({
  ...{ host: 'db', port: 1, database: 'd', user: 'u****', password: 'p****' },
  ...more,
});
const ssh = { host: 'b', user: 'hub', hostKey: 'SHA256:x', password: '********' };

it('gives each source variables of its own, whatever the labels', () => {
  const long = 'a'.repeat(199);
  const labels = ['Shop (EU)', 'Shop-EU', '注文', '顧客', `${long}b`, `${long}c`, 'x', 'x ssh'];
  const variables = new SourceVariables('hub');
  const names = labels.map((label) => {
    const connectionSettings = settings(label === 'x' ? { ssh } : {});
    const written = toFileSettings({ label, engine: 'postgres', connectionSettings }, { variables });
    return [...JSON.stringify(written).matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => name);
  });
  expect(names.slice(0, 4)).toEqual([
    ['HUB_SHOP_EU_USER', 'HUB_SHOP_EU_PASSWORD'],
    ['HUB_SHOP_EU_2_USER', 'HUB_SHOP_EU_2_PASSWORD'],
    ['HUB__USER', 'HUB__PASSWORD'],
    ['HUB__2_USER', 'HUB__2_PASSWORD'],
  ]);
  const all = names.flat();
  expect(all).toHaveLength(17);
  expect(new Set(all).size).toBe(17);
});

it('takes no variable that another source of the file has', () => {
  const before = settings({ user: '$' + '{env:HUB_B_USER}', password: '$' + '{env:HUB_B_PASSWORD}' });
  const variables = new SourceVariables('hub', [
    { label: 'a', engine: 'postgres', connectionSettings: before },
  ]);
  const write = (label: string, old?: Record<string, unknown>) =>
    toFileSettings({ label, engine: 'postgres', connectionSettings: settings() }, { variables, before: old });
  expect(write('b').password).toBe('$' + '{env:HUB_B_2_PASSWORD}');
  expect(write('a', before).password).toBe(before.password);
});
