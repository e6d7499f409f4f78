import { expect, it } from 'vitest';
import { settingChanges } from '../../src/files/setting-changes.ts';

it('lists what differs by its members, with both values', () => {
  const before = { mode: 'prefer', ca: 'A', cert: 'same' };
  expect(settingChanges(before, { cert: 'same', mode: 'require' }, 'tls')).toEqual([
    { name: 'tls.mode', from: '"prefer"', to: '"require"' },
    { name: 'tls.ca', from: '"A"', to: undefined },
  ]);
  expect(settingChanges(undefined, before, 'tls').map(({ name }) => name)).toEqual([
    'tls.mode',
    'tls.ca',
    'tls.cert',
  ]);
  const region = { key: 'region', type: 'string' };
  expect(settingChanges([region], [{ key: 'other' }, { ...region, type: 'integer' }], 'context')).toEqual([
    { name: 'context.region.type', from: '"string"', to: '"integer"' },
    { name: 'context.other', from: undefined, to: '{}' },
  ]);
  expect(settingChanges(before, { cert: 'same', ca: 'A', mode: 'prefer' }, 'tls')).toEqual([]);
  const [long] = settingChanges('', 'x'.repeat(1_000), 'label');
  expect(long?.to).toHaveLength(201);
});
